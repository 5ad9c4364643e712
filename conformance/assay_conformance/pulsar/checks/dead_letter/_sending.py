"""Which SEND is a letter, of what kind, and which message it is a copy of.

A letter is known by its topic: the one its consumer was given for it, or the subscription's own. Its original is the
entry that its ORIGIN_MESSAGE_ID names; a copy of a copy names the first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import TimedCheck, in_force, number_in_force
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.parts import own_name, retry_letter_topic
from assay_conformance.checks.tracker import Entry, OpenedConsumer
from assay_conformance.model.event import FORGED_OR_DOUBLED, Frame, Invoke, Received, Stored
from assay_conformance.model.topic_names import base_topic

RECONSUME_TIMES = "RECONSUMETIMES"
DELAY_TIME = "DELAY_TIME"
REAL_TOPIC = "REAL_TOPIC"
ORIGINS = ("ORIGIN_MESSAGE_ID", "ORIGIN_MESSAGE_IDY_TIME")
"""The second is the Java client's own spelling of it, which the Go client took over."""


class Kind(StrEnum):
    RETRY = "retry letter"
    DEAD = "dead letter"


@dataclass(frozen=True, slots=True)
class Address:
    """A letter topic: whose letters of which kind go there. `full` is the full name of the consumer's topic."""

    kind: Kind
    consumer: OpenedConsumer
    topic: str
    full: str


@dataclass(frozen=True, slots=True, eq=False)
class Letter:
    """One copy, by the SEND that wrote it first, or, in chunks, that completed it. `origin` is None where it tells of
    none."""

    kind: Kind
    address: Address
    frame: Frame
    unit: Unit
    told: dict[str, str]
    origin: Entry | None
    again: bool = False
    """It was written before, on another connection: what was asked for since is not about it."""

    def __str__(self) -> str:
        return f"the {self.kind} for {self.origin or 'an unknown message'} of {self.address.topic}"


class LetterCheck(TimedCheck):
    """Tells letters from other SENDs, and knows every stored entry, and which message an entry is a copy of."""

    def start(self) -> None:
        self.addresses: dict[str, Address] = {}
        """Full name of a letter topic -> whose."""
        self.stored: dict[Entry, Stored] = {}
        self._written: set[tuple[str, str | None, int | None, int | None]] = set()
        """Topic, producer name, sequence id and bytes of letters: nobody opened their producer, so that one that comes
        again on another connection is known by these alone."""

    def posted(self, letter: Letter) -> None:
        """A letter was written for the first time."""

    @on(Invoke, "open_consumer")
    def _consumer_opened(self, event: Invoke) -> None:
        consumer, began = self.tracker.opened_consumers.get(event.handle or 0), self.tracker.began
        if consumer is None or began is None or not consumer.topics:
            return
        topic = consumer.topics[0]
        full = began.topics.get(topic, topic)
        if number_in_force(self.view, consumer, "max_redeliver_count"):
            dead = in_force(self.view, consumer, "dead_letter_topic") or f"{own_name(self.view, consumer)}-DLQ"
            self.addresses[str(dead)] = Address(Kind.DEAD, consumer, topic, full)
        if (again := retry_letter_topic(self.view, consumer)) is not None:
            self.addresses[again] = Address(Kind.RETRY, consumer, topic, full)

    @on(Stored)
    def _appended(self, event: Stored) -> None:
        self.stored[Entry(event.topic, *event.id.position)] = event

    @on(Frame, "SEND")
    def _sent(self, event: Frame) -> None:
        lines = self.tracker.lines
        session, unit = self.tracker.producer_of(event), lines.unit
        if session is None or unit is None or lines.again or event.fate in FORGED_OR_DOUBLED or event.meta is None:
            return
        address = self.addresses.get(str(session.request.fields.get("topic", "")))
        if address is None or unit.line.handle is not None or not (event.members or event.meta.chunk_id is None):
            return
        written = (session.topic, session.name, event.sequence_id, event.unit)
        told = event.meta.letter
        again = written in self._written
        self._written.add(written)
        self.posted(Letter(address.kind, address, event, unit, told, self._named(address.topic, told), again))

    def origin_of(self, entry: Entry) -> Entry:
        """The first message an entry is a copy of; itself where it is none."""
        stored = self.stored.get(entry)
        if stored is None or not stored.meta.letter:
            return entry
        topics = {address.topic for address in self.addresses.values()}
        named = (self._named(topic, stored.meta.letter) for topic in topics)
        return next((origin for origin in named if origin is not None), entry)

    def handed(self, event: Received) -> Entry | None:
        """The entry a message that was handed over came from."""
        return self.tracker.entries.get(event.seq)

    def message_of(self, entry: Entry) -> Stored | None:
        """The stored entry with the content of the message that `entry` names: of a chunked one its last chunk."""
        stored = self.stored.get(entry)
        if stored is None or stored.members or stored.meta.chunk_id is None:
            return stored
        return next(
            (other for other in self.stored.values() if other.meta.uuid == stored.meta.uuid and other.members), stored
        )

    def _named(self, topic: str, told: dict[str, str]) -> Entry | None:
        """Clients write ids each in their own way; all of them name ledger and entry, in this order. The partition is
        the real topic's."""
        real = self.tracker.local_topic(told.get(REAL_TOPIC, ""))
        topic = real if base_topic(real) == topic else topic
        text = next((told[name] for name in ORIGINS if name in told), "")
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        named = (Entry(topic, ledger, entry) for ledger, entry in pairwise(numbers))
        return next((entry for entry in named if entry in self.stored), None)


def times_of(told: dict[str, str]) -> int:
    """How often a message went by way of the retry letter topic."""
    text = told.get(RECONSUME_TIMES, "")
    return int(text) if text.isdecimal() else 0
