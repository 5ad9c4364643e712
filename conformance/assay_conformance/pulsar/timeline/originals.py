"""Originals: which message an entry is a copy of, when it is a letter."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import Final

from assay_conformance.checks.tracker import Tracker
from assay_conformance.model.event import Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline.consumers import Entry

RECONSUME_TIMES: Final = "RECONSUMETIMES"
REAL_TOPIC: Final = "REAL_TOPIC"
ORIGINS: Final = ("ORIGIN_MESSAGE_ID", "ORIGIN_MESSAGE_IDY_TIME")
"""The second is the Java client's own spelling of it, which the Go client took over."""


class Originals:
    """The entries of an attempt as messages, and as copies of others."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._letter_topics: dict[str, None] = {}
        """The topics of consumers that may send letters, in order."""

    def stored(self, entry: Entry) -> Stored | None:
        """Return an entry whose metadata can be read."""
        stored = self._tracker.stored_at.get(entry)
        return stored if stored is not None and stored.described is not None else None

    def message_of(self, entry: Entry) -> Stored | None:
        """Return the stored entry with the content of a message: of a chunked one, its last chunk."""
        stored = self.stored(entry)
        if stored is None or stored.members or stored.meta.chunk_id is None:
            return stored
        return self._last_chunks.get(stored.meta.uuid, stored)

    @cached_property
    def _last_chunks(self) -> dict[str | None, Stored]:
        found: dict[str | None, Stored] = {}
        for stored in self._tracker.stored_at.values():
            if stored.members and stored.described is not None:
                found.setdefault(stored.described.uuid, stored)
        return found

    def origin_of(self, entry: Entry) -> Entry:
        """Return the first message that an entry is a copy of; itself where it is none."""
        says = self._says(entry)
        if not says:
            return entry
        named = (self._named(topic, says) for topic in self._letter_topics)
        return next((origin for origin in named if origin is not None), entry)

    def _says(self, entry: Entry) -> dict[str, str]:
        """Return the properties that make a stored message a letter. A batch of several is no copy of one message."""
        stored = self.stored(entry)
        if stored is None or stored.meta.batch is None:
            return {} if stored is None else stored.meta.letter
        return stored.members[0].letter if len(stored.members) == 1 else {}

    def _named(self, topic: str, says: dict[str, str]) -> Entry | None:
        """Return the entry that a letter's properties name, on a partition of the real topic.

        Clients write ids each in their own way; all of them name ledger and entry, in this order.
        """
        real = self._tracker.local_topic(says.get(REAL_TOPIC, ""))
        topic = real if base_topic(real) == topic else topic
        text = next((says[name] for name in ORIGINS if name in says), "")
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        named = (Entry(topic, ledger, entry) for ledger, entry in pairwise(numbers))
        found = next((entry for entry in named if entry in self._tracker.stored_at), None)
        return None if found is None else self._whole_of(found)

    def _whole_of(self, entry: Entry) -> Entry:
        """Return the place of the whole message of an entry: of a chunked one, that of its last chunk.

        Java clients name the first before the last.
        """
        message = self.message_of(entry)
        return entry if message is None else Entry(entry.topic, message.id.ledger, message.id.entry)


def times_of(says: dict[str, str]) -> int:
    """Return how often a message went by way of the retry letter topic."""
    text = says.get(RECONSUME_TIMES, "")
    return int(text) if text.isdecimal() else 0
