"""Readers: subscriptions that are not durable begin where their consumer says, and are gone with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import Position

FIRST: Position = (-1, -1)
NONE = 2**64 - 1
"""-1 as the protocol writes it."""


def is_reader(session: ConsumerSession) -> bool:
    """Whether its subscription is not durable. Its client knows how far it has read, and may drop what comes from
    before."""
    return session.request.fields.get("durable", True) is False


def begins_at(session: ConsumerSession, entry: Entry) -> bool:
    """Whether this is where the session asked to begin: a reader that comes back names what it has read last."""
    return (entry.ledger, entry.entry) == place_named(session.request.fields.get("start_message_id"))


def place_named(start: Mapping[str, Any] | None) -> Position | None:
    """Where a start id is; None for what is no place in the topic yet, its end among others."""
    if not start:
        return None
    ledger, entry = int(start.get("ledgerId", NONE)), int(start.get("entryId", NONE))
    if ledger in (NONE, -1):
        return FIRST
    return None if ledger >= 2**63 - 1 else (ledger, entry)
