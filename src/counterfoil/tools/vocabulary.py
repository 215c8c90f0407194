"""The words by which a tool that nobody has declared anything of is judged. Whole words, never prefixes."""

from __future__ import annotations

from counterfoil.tools.trust import Act, RoleName
from counterfoil.types.label import Integrity


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


READING = _set(
    """
    get list search find read view show check count describe lookup summarize summarise compare calculate
    preview inspect
    """
)
ALONE = _set("help status whoami")
"""That read as the whole of a name; before another word they are what is acted on: status_update."""
LOOKING = _set("get find read describe lookup inspect")
"""After which a word that is also a verb may be a thing: get_post. The others are nouns too: list_post posts to one."""
VERBS = _set(
    """
    accept activate add allow alter append apply approve assign attach authorise authorize ban bump buy cancel clear
    click confirm create deactivate decline decrement delete deliver deploy destroy disable discard dismiss edit
    enable enroll erase eval exec execute expose forward generate give hide increment insert install invoke join
    kick kill merge modify move mute notify overwrite pay publicly publish purge push put reboot reject remove
    rename replace reschedule reset restart restore revoke save sell send set shutdown spawn submit subscribe
    suspend tap terminate tick toggle truncate unblock uninstall unlock unshare unsubscribe upload upsert wipe
    withdraw write
    """
)
"""That in a name which begins with reading say that it does something else as well, or instead."""
NOUN_VERBS = _set(
    """
    archive auction bid block book broadcast call charge commit copy deposit dispatch donate drop export grant hire
    import invite leave lock make patch place post purchase release rent reply request reserve run sale share
    start stop swap trade transfer trigger tweet update
    """
)
"""The same, but for what they can name after one of `LOOKING`: get_transfer, find_post_by_id; not show_post_all."""
ABOUT = _set("by id ids in of from status state info information detail details history count type date")
"""After which a word that can be a verb has no object: it is a thing that something is asked about."""
TURNING = _set("and then or replace out off rid away into onto aloud")
"""With which a name that began with reading goes on to something else: get_and_send, find_replace, check_guest_into."""
MORE = VERBS | NOUN_VERBS | TURNING
"""That say that more is done than what a name says else."""
PARTICLES = _set("in on over up down back to for with through around")
"""That make another verb of the first word right after it: check_in, show_to_all, list_for_sale."""
LAST = _set("in on over up down back")
"""The same at the end of a name: check_guest_in."""
SEEKING = _set("search find check lookup count inspect")
"""After which `for` says what is looked for: search_for_flights."""
GOING = _set("search find compare calculate count")
"""After which `to` is no one who is given what was read: search_flights_to_city, but show_text_to_all."""
TICKED = _set("box boxes checkbox checkboxes tickbox todo todos")
"""That is set by being checked, not looked at: check_box."""
PROGRAMS = _set("sql script command shell cypher")
"""Arguments that say what is done, whatever the tool is called."""
ASKING = SEEKING | {"query", "ask"}
ELSEWHERE = _set("google bing duckduckgo internet llm gpt chatgpt")
"""After one of `ASKING`, services that learn what they are asked: search_google."""
FETCHING = _set("webpage website url http https browse browser crawl scrape fetch visit web")
ACTS: tuple[tuple[Act, frozenset[str]], ...] = (
    ("destroy", _set("delete cancel remove clear drop revoke destroy purge terminate erase kill uninstall")),
    (
        "pay",
        _set(
            """
    pay payment transfer money checkout purchase buy order refund reserve book charge invoice transaction
    subscribe donate tip withdraw bid trade
    """
        ),
    ),
    (
        "admin",
        _set(
            """
    password login verify invite share permission permissions collaborator key user users member members role
    roles ownership owner grant account profile credential credentials token admin access
    """
        ),
    ),
)
OWN = _set("create append copy move draft bookmark note download save rename star pin label archive")
OUTWARD = _set(
    """
    send post publish reply message email mail tweet comment notify forward submit upload issue ticket pull
    request push release channel
    """
)

TARGETS = _set(
    """
    recipient recipients to cc bcc participant participants attendee attendees email emails user users username
    channel channels url urls uri link path dir directory folder id ids repo repository hotel company restaurant
    owner iban account accounts host domain address phone destination receiver customer person member group team
    project file resource name
    """
)
CRITICAL = _set(
    """
    amount price cost total sum quantity count password permission permissions role scope otp pin key force
    overwrite recursive street city zip country first last limit rate command code sql query script
    """
)
CONTENT = _set(
    """
    body content subject title description message comment text note summary location filename caption reason
    html markdown
    """
)
GRAVE: tuple[Act, ...] = ("pay", "destroy", "admin")
"""Acts of which every flag and every time says how much is done."""
LABELS = _set("title subject description location filename summary caption")
"""Of `CONTENT`, what can be how a thing is called that there is already: delete_page(title), share_file(filename)."""
TITLES = _set("title subject filename location")
"""Those of them that say which, or where, wherever a thing is handled."""
SAYING = _set("subject description summary caption")
"""Those of them that are told to somebody with a payment."""
PARTING = _set("reason comment message note")
"""What can be told of why something is destroyed. All else says what."""
MAKING = _set("create draft compose generate save bookmark")
"""Whose title is that of something new: create_file(filename)."""
TOUCHING = _set(
    """
    accept activate approve close deactivate decline deploy disable enable execute lock merge move overwrite reject
    rename replace reschedule reset restart restore run start stop suspend unlock write
    """
)
"""That are done to a thing that there is: its title says to which."""
HANDING = _set(
    """
    attach deliver dispatch edit email export forward give import mail modify open print publish send share submit
    update upload
    """
)
"""The same if a thing is named with them: send_document, but not send_message."""
THINGS = _set(
    """
    album attachment attachments dataset doc docs document documents file files folder image images note notes page
    pages photo photos picture pictures presentation record recording report sheet slides spreadsheet video videos
    """
)
HARMLESS = _set("html markdown formatted pretty verbose urgent important day")
"""Flags about form alone, whoever sets them. Any other may say who sees something, how much is done, or by force."""
COPULAS = _set("is as use all")
"""That say nothing before one of those: is_html, all_day."""
WHEN = _set("date day time start end when deadline due until")
LASTING = _set("until expire expires expiry expiration valid")
"""Times that say how long something holds."""
KEYS = _set("query filename name sender date day id title path email key")
FIELDS = _set("type kind id name path url title value label email file_id email_id user_id event_id message_id")
"""The keys of an object whose schema names none that are names of fields and nobody's choice: to the letter."""
LEAVING = _set(
    """
    url urls uri uris link links hyperlink hyperlinks permalink href host hosts hostname hostnames domain domains
    subdomain fqdn endpoint endpoints webhook webhooks callback callbacks server servers site sites website websites
    web webpage webpages http https ftp dns ip ips ipv proxy gateway
    """
)
"""Words for an address in the net: what is asked of it leaves."""
ADDRESSES = ("url", "urls", "uri", "uris")
"""The same, at the end of a longer word: baseurl."""
NET_FORMATS = _set(
    """
    uri uri-reference uri-template iri iri-reference url hostname idn-hostname ipv4 ipv6
    """
)
TEXT_FORMATS: dict[str, RoleName] = {
    "email": "target",
    "uri": "target",
    "uri-reference": "target",
    "hostname": "target",
    "uuid": "target",
}


PEOPLE = _set("recipient recipients to cc bcc participants attendees email emails user users channel url")
IDS: dict[str, Integrity] = {"id": "system", "id_": "system"}
