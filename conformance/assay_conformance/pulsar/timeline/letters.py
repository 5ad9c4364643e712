"""Letters: the copies of messages that clients send to retry and dead letter topics, and what each is a copy of. A
letter is recognised by its topic: the one that its consumer was configured with, or the default one of the
subscription, which was once named by the subscription only: Java clients keep that name if a broker reports such a
topic, as brokers do that cannot be asked without creating it (ConsumerBuilderImpl, apache/pulsar#9327). Its original is
the entry that its ORIGIN_MESSAGE_ID names; a copy of a copy names the first original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import from_client, in_force, number_in_force, sent_round
from assay_conformance.checks.parts import own_name, retry_letter_topic
from assay_conformance.history.events import Events
from assay_conformance.model.event import FORGED, Event, Frame, Invoke, Member, Received
from assay_conformance.pulsar.outcomes.errors import RESENT_AFTER
from assay_conformance.pulsar.timeline.answers import Answer
from assay_conformance.pulsar.timeline.consumers import Consumer, Entry
from assay_conformance.pulsar.timeline.originals import Originals, times_of
from assay_conformance.pulsar.timeline.producers import Unit
from assay_conformance.pulsar.timeline.requests import Request

DELAY_TIME: Final = "DELAY_TIME"


class Kind(StrEnum):
    """The kinds of letters."""

    RETRY = "retry letter"
    DEAD = "dead letter"


class Address(NamedTuple):
    """A letter topic: the consumer whose letters go there, and their kind. `full` is the full name of the consumer's
    topic."""

    kind: Kind
    consumer: Consumer
    topic: str
    full: str


@dataclass(frozen=True, slots=True, eq=False)
class Letter:
    """One copy, by the SEND that wrote it first, or, in chunks, that completed it. `in_batch`: what it is of a batch.

    `origin`: None where it names none. `again`: it was written before, on another connection. `receipts`: in order.
    `refused_before`: the SEND_ERROR of a chunk of it that had not been sent again when this one left.
    """

    address: Address
    unit: Unit
    origin: Entry | None
    again: bool
    receipts: tuple[Frame, ...]
    refused_before: Frame | None
    in_batch: Member | None = None

    @property
    def kind(self) -> Kind:
        """Of its topic."""
        return self.address.kind

    @property
    def frame(self) -> Frame:
        """The SEND."""
        return self.unit.first

    @property
    def says(self) -> dict[str, str]:
        """Its properties that make it a letter."""
        described = self.in_batch or self.frame.meta
        return {} if described is None else described.letter

    @property
    def members(self) -> tuple[Member, ...]:
        """What can be read of it: one message, or none."""
        return self.frame.members if self.in_batch is None else (self.in_batch,)

    @property
    def whole(self) -> str | int:
        """What all of its chunks have in common; and the letters of a batch."""
        return _whole(self.unit)

    def __str__(self) -> str:
        return f"the {self.kind} for {self.origin or 'an unknown message'} of {self.address.topic}"


class LetterRequest(NamedTuple):
    """A lookup of a letter topic, or a PRODUCER for one, with its first answer."""

    address: Address
    request: Request

    @property
    def failure(self) -> Frame | None:
        """The answer, if it is an error: the letter may fail with it, or be retried."""
        return self.request.answer if self.request.error else None


class Round(NamedTuple):
    """A message that the application passed to reconsume_later. `times`: how often before."""

    call: Invoke
    message: Received
    entry: Entry
    origin: Entry
    times: int


class Letters(Originals):
    """All letters of an attempt, in order, and which message an entry is a copy of."""

    def __init__(self, view: View, events: Events, answers: Iterable[Answer], requests: Iterable[Request]) -> None:
        """Collect the letters. `answers`: to SENDs; `requests`: lookups and PRODUCERs."""
        super().__init__(view.tracker)
        self._view, self._events = view, events
        self._addresses: dict[str, list[Address]] = {}
        for consumer in self._tracker.opened_consumers.values():
            for full, address in self._addresses_of(consumer):
                self._addresses.setdefault(full, []).append(address)
                self._letter_topics[address.topic] = None
        self._answers = list(answers) if self._addresses else []
        found = ((self.address(one.frame), one) for one in (requests if self._addresses else ()))
        self.requests = [LetterRequest(address, one) for address, one in found if address is not None]

    def _addresses_of(self, consumer: Consumer) -> Iterator[tuple[str, Address]]:
        began = self._tracker.began
        if began is None or not consumer.topics:
            return
        topic = consumer.topics[0]
        full = began.topics.get(topic, topic)
        former = f"{full.rpartition('/')[0]}/{consumer.subscription}"
        if number_in_force(self._view, consumer, "max_redeliver_count"):
            given = in_force(self._view, consumer, "dead_letter_topic")
            for dead in (given,) if given else (f"{own_name(self._view, consumer)}-DLQ", f"{former}-DLQ"):
                yield str(dead), Address(Kind.DEAD, consumer, topic, full)
        if (again := retry_letter_topic(self._view, consumer)) is not None:
            given = in_force(self._view, consumer, "retry_letter_topic")
            for retry in (again,) if given else (again, f"{former}-RETRY"):
                yield retry, Address(Kind.RETRY, consumer, topic, full)

    def address(self, frame: Frame) -> Address | None:
        """Return the letter topic that a frame names: that of the consumer which was opened last."""
        known = self._addresses.get(str(frame.fields.get("topic", "")), ())
        return next((one for one in reversed(known) if one.consumer.invoke.seq < frame.seq), None)

    def of(self, kind: Kind) -> list[Letter]:
        """Return the letters of a kind."""
        return [letter for letter in self.all if letter.kind is kind]

    # --- letters ---

    @cached_property
    def all(self) -> list[Letter]:
        """In order of their SENDs."""
        unowned = (line for line in self._tracker.lines.all if line.handle is None) if self._addresses else ()
        units = sorted((unit for line in unowned for unit in line.units), key=lambda unit: unit.first.seq)
        written: set[object] = set()
        return [letter for unit in units for letter in self._letters_in(unit, written)]

    def _letters_in(self, unit: Unit, written: set[object]) -> Iterator[Letter]:
        """Yield the letters in a unit.

        `written`: topic, producer name, sequence id and bytes of letters. No call opened their producer, so only these
        identify one that is sent again on another connection.
        """
        frame, session = unit.first, unit.sends[0][0]
        address, meta = self.address(session.request), frame.meta
        # The client wrote once what a fault duplicated.
        if address is None or meta is None or frame.fate in FORGED or not frame.from_sender:
            return
        if not frame.members and meta.chunk_id is not None:
            return
        same = (session.topic, session.name, frame.sequence_id, frame.unit)
        again = same in written
        written.add(same)
        receipts, refused_before = (*unit.receipts, *self._late_receipts(unit)), self._refused_before(unit)
        for member in frame.members if meta.batch is not None else (None,):
            origin = self._named(address.topic, meta.letter if member is None else member.letter)
            yield Letter(address, unit, origin, again, receipts, refused_before, member)

    def _late_receipts(self, unit: Unit) -> Iterator[Frame]:
        odd = (one.frame for one in self._odd.get(id(unit), ()) if one.frame.command == "SEND_RECEIPT")
        return (frame for frame in odd if frame not in unit.receipts)

    @cached_property
    def _odd(self) -> dict[int, list[Answer]]:
        found: dict[int, list[Answer]] = {}
        for answer in self._answers:
            if answer.unit is not None:
                found.setdefault(id(answer.unit), []).append(answer)
        return found

    @cached_property
    def refusals(self) -> dict[str | int, list[tuple[Frame, Unit]]]:
        """`whole` -> the errors that refuse it or a chunk of it for good, and what they answer."""
        found: dict[str | int, list[tuple[Frame, Unit]]] = {}
        for frame, unit in ((one.frame, one.unit) for one in self._answers if one.frame.command == "SEND_ERROR"):
            if unit is not None and frame.fields.get("error") not in RESENT_AFTER:
                found.setdefault(_whole(unit), []).append((frame, unit))
        return found

    def _refused_before(self, unit: Unit) -> Frame | None:
        before = [one for one in self.refusals.get(_whole(unit), ()) if one[0].seq < unit.first.seq]
        if not before:
            return None
        refusal, refused = before[-1]
        chunk = None if refused.first.meta is None else refused.first.meta.chunk_id
        since = (frame for frame in self._events.frames("SEND") if refusal.seq < frame.seq <= unit.first.seq)
        again = (frame.meta for frame in since if from_client(frame) and frame.meta is not None)
        resent = any(meta.uuid == _whole(unit) and meta.chunk_id == chunk for meta in again)
        return None if resent else refusal

    def had_failed(self, subscription: str, event: Event) -> bool:
        """Return whether a letter of a subscription may have failed before an event.

        A broker had refused any letter, or a request for its topic. The client acts on that when it has read it.
        """
        failures = [one.failure for one in self.requests if one.address.consumer.subscription == subscription]
        failures += [refusal for refusals in self.refusals.values() for refusal, _ in refusals]
        return any(failure is not None and failure.seq < event.seq for failure in failures)

    @cached_property
    def rounds(self) -> list[Round]:
        """The messages that the application passed to reconsume_later, in order."""
        found = []
        for call in self._events.invokes("reconsume_later"):
            for message, entry in sent_round(self._tracker, call):
                times = times_of(self._says(entry))
                found.append(Round(call, message, entry, self.origin_of(entry), times))
        return found


def _whole(unit: Unit) -> str | int:
    """Return what the chunks of a letter have in common; of a letter sent whole, something that no other has."""
    meta = unit.first.meta
    return id(unit) if meta is None or meta.uuid is None else meta.uuid
