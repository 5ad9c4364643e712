"""Readers: non-durable subscriptions start where their consumer says, and end with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Position

FIRST: Position = (-1, -1)
NONE = 2**64 - 1
"""-1 as an unsigned number, which is how the protocol writes it."""


def ids_may_start_over(case: Case) -> bool:
    """Return whether a step of the broker may make the ids of a topic start over."""
    return any(step.who is Who.BROKER and step.verb in ("set_policy", "delete", "migrate") for step in case.steps)


def is_reader(session: ConsumerSession) -> bool:
    """Return whether the session's subscription is not durable.

    Its client knows how far it has read, and may drop earlier messages.
    """
    return session.request.fields.get("durable", True) is False


def skips_messages(session: ConsumerSession) -> bool:
    """Return whether it is a reader that starts at a message, and drops what arrives up to that one.

    A reader that starts at an end of its topic drops nothing.
    """
    return is_reader(session) and first_place(session) not in (FIRST, None)


def begins_at(session: ConsumerSession, entry: Entry) -> bool:
    """Return whether the session asked to begin at this entry: a reader that reconnects names the last one read."""
    return (entry.ledger, entry.entry) == place_named(session.request.fields.get("start_message_id"))


def first_place(session: ConsumerSession) -> Position | None:
    """Return where a reader asks to begin; None where that is the end of the topic.

    It is the entry that it names, and without one its initial position (Broker, NonDurableCursorImpl).
    """
    fields = session.request.fields
    start = fields.get("start_message_id")
    if not start and fields.get("initialPosition") == "Earliest":
        return FIRST
    return place_named(start)


def place_named(start: Mapping[str, Any] | None) -> Position | None:
    """Return the position of a start id; None where it is not an entry, such as the end of the topic. Entry -1 is in
    front of the first one of its ledger, where Java's readers begin that came back and had read nothing."""
    if not start:
        return None
    ledger, entry = int(start.get("ledgerId", NONE)), int(start.get("entryId", NONE))
    if ledger in (NONE, -1):
        return FIRST
    return None if ledger >= 2**63 - 1 else (ledger, -1 if entry == NONE else entry)
