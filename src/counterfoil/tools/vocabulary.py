"""The words by which a tool that nobody has declared anything of is judged. Whole words, never prefixes."""

from __future__ import annotations

from counterfoil.tools.trust import Act, RoleName
from counterfoil.types.label import Integrity


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


READING = _set(
    """
    get list search find read view show check count describe lookup query summarize summarise compare calculate
    preview inspect status whoami help
    """
)
TURNING = _set("and then or replace")
"""After which a name that began with reading goes on with something else: get_and_send, find_replace."""
PARTICLES = _set("out in off rid over")
"""That make another verb of the first word: check_out, get_rid_of."""
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
WHEN = _set("date day time start end when deadline due until from")
KEYS = _set("query filename name sender date day id title path email key")
FIELDS = TARGETS | CRITICAL | CONTENT | WHEN | KEYS | _set("type kind value label")
TEXT_FORMATS: dict[str, RoleName] = {
    "email": "target",
    "uri": "target",
    "uri-reference": "target",
    "hostname": "target",
    "uuid": "target",
}


PEOPLE = _set("recipient recipients to cc bcc participants attendees email emails user users channel url")
IDS: dict[str, Integrity] = {"id": "system", "id_": "system"}
