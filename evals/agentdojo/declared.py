"""What the developers of AgentDojo's 74 tools would declare: read off their signatures and docstrings.

The only sources are what a tool does and who can write what it returns: no user task and no injection was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from counterfoil.tools.trust import Trust
from counterfoil.types.label import System, Typed, Untrusted, User

# What a service says of a call that it has carried out: assigned by it, but for what it repeats of the arguments.
_DONE = {"*": System}

_EVENT = {"id_": System, "status": Typed, "start_time": Typed, "end_time": Typed, "all_day": Typed,
          "participants": Typed}  # fmt: skip
_FILE = {"id_": System, "size": System, "last_modified": System, "owner": Typed}
_MAIL = {"id_": System, "timestamp": System, "status": System, "read": System, "sender": Typed, "recipients": Typed,
         "cc": Typed, "bcc": Typed}  # fmt: skip
_TRANSACTION = {"id": System, "sender": Typed, "recipient": Typed, "amount": Typed, "date": Typed, "recurring": Typed,
                "subject": Untrusted}  # fmt: skip
_POST = {"sender": Typed, "recipient": Typed, "body": Untrusted}


def _mails(*keys: str) -> Trust:
    return Trust(act="read", returns=_MAIL, author="sender", keys=keys)


def _events(*keys: str) -> Trust:
    return Trust(act="read", returns=_EVENT, keys=keys)


def _files(*keys: str) -> Trust:
    return Trust(act="read", returns=_FILE, keys=keys)


def _pay(**more: str) -> Trust:
    roles = {"recipient": "target", "amount": "critical", "subject": "content", "date": "plain", **more}
    return Trust.from_dict({"act": "pay", "roles": roles, "returns": _DONE})


BANKING: Mapping[str, Trust] = {
    "get_iban": Trust(act="read", returns=System),
    "get_balance": Trust(act="read", returns=System),
    "get_most_recent_transactions": Trust(act="read", returns=_TRANSACTION, author="sender"),
    "get_scheduled_transactions": Trust(act="read", returns={"*": User, "id": System}),
    "read_file": Trust(act="read", keys=("file_path",)),
    "get_user_info": Trust(act="read", returns=User, private=True),
    "send_money": _pay(),
    "schedule_transaction": _pay(recurring="critical"),
    "update_scheduled_transaction": _pay(id="target", recurring="critical"),
    "update_password": Trust(act="admin", roles={"password": "critical"}, returns=_DONE),
    "update_user_info": Trust(
        act="admin",
        roles={"first_name": "critical", "last_name": "critical", "street": "critical", "city": "critical"},
        returns=_DONE,
    ),
}

SLACK: Mapping[str, Trust] = {
    "get_channels": Trust(act="read", returns=Typed),
    "get_users_in_channel": Trust(act="read", returns=Typed),
    "read_channel_messages": Trust(act="read", returns=_POST, keys=("channel",)),
    "read_inbox": Trust(act="read", returns=_POST, keys=("user",)),
    "get_webpage": Trust(act="fetch", roles={"url": "target"}),
    "post_webpage": Trust(act="send", roles={"url": "target", "content": "content"}, returns=System),
    "send_direct_message": Trust(act="send", roles={"recipient": "target", "body": "content"}, returns=System),
    "send_channel_message": Trust(act="send", roles={"channel": "target", "body": "content"}, returns=System),
    "add_user_to_channel": Trust(act="admin", roles={"user": "target", "channel": "target"}, returns=System),
    "invite_user_to_slack": Trust(act="admin", roles={"user": "target", "user_email": "target"}, returns=System),
    "remove_user_from_slack": Trust(act="admin", roles={"user": "target"}, returns=System),
}

_CALENDAR: Mapping[str, Trust] = {
    "search_calendar_events": _events("query", "date"),
    "get_day_calendar_events": _events("day"),
    "create_calendar_event": Trust(
        act="self",
        widens={"participants": "send"},
        roles={"title": "content", "description": "content", "location": "content", "participants": "target",
               "start_time": "plain", "end_time": "plain"},
        returns=_DONE,
    ),
    "cancel_calendar_event": Trust(act="destroy", roles={"event_id": "target"}, returns=System),
}  # fmt: skip

_SEND_MAIL = Trust(
    act="send",
    roles={"recipients": "target", "cc": "target", "bcc": "target", "subject": "content", "body": "content",
           "attachments": "resource"},
    returns=_DONE,
)  # fmt: skip

WORKSPACE: Mapping[str, Trust] = {
    **_CALENDAR,
    "get_current_day": Trust(act="read", returns=System),
    "get_unread_emails": _mails(),
    "get_sent_emails": _mails(),
    "get_received_emails": _mails(),
    "get_draft_emails": _mails(),
    "search_emails": _mails("query", "sender"),
    "search_contacts_by_name": Trust(act="read", returns={"email": Typed}, keys=("query",)),
    "search_contacts_by_email": Trust(act="read", returns={"email": Typed}, keys=("query",)),
    "search_files_by_filename": _files("filename"),
    "search_files": _files("query"),
    "get_file_by_id": _files(),
    "list_files": _files(),
    "reschedule_calendar_event": Trust(
        act="send",
        roles={"event_id": "target", "new_start_time": "critical", "new_end_time": "plain"},
        returns=_EVENT,
    ),
    "add_calendar_event_participants": Trust(
        act="send", roles={"event_id": "target", "participants": "target"}, returns=_EVENT
    ),
    "send_email": _SEND_MAIL,
    "delete_email": Trust(act="destroy", roles={"email_id": "target"}, returns=System),
    "create_file": Trust(act="self", roles={"filename": "content", "content": "content"}, returns=_DONE),
    "append_to_file": Trust(act="self", roles={"file_id": "target", "content": "content"}, returns=_FILE),
    "delete_file": Trust(act="destroy", roles={"file_id": "target"}, returns=_FILE),
    "share_file": Trust(
        act="admin",
        roles={"file_id": "target", "email": "target", "permission": "critical"},
        words={"permission": {"r": ("read",), "rw": ("write", "edit")}},
        returns=_FILE,
    ),
}

# The travel desk's own directory: names, prices, addresses are kept by it; reviews are written by guests.
_DIRECTORY = (
    "get_all_hotels_in_city", "get_hotels_prices", "get_hotels_address", "get_all_restaurants_in_city",
    "get_cuisine_type_for_restaurants", "get_restaurants_address", "get_dietary_restrictions_for_all_restaurants",
    "get_contact_information_for_restaurants", "get_price_for_restaurants", "check_restaurant_opening_hours",
    "get_all_car_rental_companies_in_city", "get_car_types_available", "get_car_fuel_options", "get_car_rental_address",
    "get_car_price_per_day", "get_flight_information",
)  # fmt: skip
_REVIEWS = ("get_rating_reviews_for_hotels", "get_rating_reviews_for_restaurants", "get_rating_reviews_for_car_rental")

TRAVEL: Mapping[str, Trust] = {
    **_CALENDAR,
    **{name: Trust(act="read", returns=_DONE) for name in _DIRECTORY},
    **{name: Trust(act="read") for name in _REVIEWS},
    "get_user_information": Trust(
        act="read",
        returns=User,
        private=True,
        secret=("ID Number", "Passport Number", "Bank Account Number", "Credit Card Number"),
    ),
    "reserve_hotel": Trust(
        act="pay", roles={"hotel": "target", "start_day": "critical", "end_day": "critical"}, returns=_DONE
    ),
    "reserve_car_rental": Trust(
        act="pay", roles={"company": "target", "start_time": "critical", "end_time": "critical"}, returns=_DONE
    ),
    "reserve_restaurant": Trust(act="pay", roles={"restaurant": "target", "start_time": "critical"}, returns=_DONE),
    "send_email": _SEND_MAIL,
}

TRUST: Mapping[str, Mapping[str, Trust]] = {
    "workspace": WORKSPACE,
    "travel": TRAVEL,
    "banking": BANKING,
    "slack": SLACK,
}

ME: Mapping[str, tuple[str, ...]] = {
    "workspace": ("emma.johnson@bluesparrowtech.com",),
    "travel": ("emma.johnson@bluesparrowtech.com",),
    "banking": ("me", "DE89370400440532013000"),
    "slack": (),
}
"""The requester's own names with the services: what the application knows of who is signed in."""
