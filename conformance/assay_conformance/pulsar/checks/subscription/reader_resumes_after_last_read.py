"""Readers that reconnect name the message after which they go on, since the broker does not keep their position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.checks.base import LEFT, Check, ms, on
from assay_conformance.checks.consumption import in_force
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.case import Who
from assay_conformance.model.event import (
    FORGED_OR_DOUBLED,
    Completion,
    Fate,
    Frame,
    Invoke,
    Outcome,
    Position,
    Received,
)
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.timeline.readers import FIRST, place_named

Place = tuple[Position, int]
WHOLE = 2**31
"""Used as an index: all messages of the entry."""

_ID_CHANGING_VERBS = frozenset({"set_policy", "delete", "migrate"})
"""Broker verbs after which the ids of a topic may start over."""


@dataclass(slots=True)
class _Reading:
    """What a reader has received since it opened or sought, in order; `known`: the last message that its client
    certainly knew when it reconnected with `request`."""

    received: list[Received] = field(default_factory=list)
    seeking: bool = False
    known: Received | None = None
    request: Frame | None = None


class ReaderResumesAfterLastRead(Check):
    """After a reconnect a reader begins with the last message it received, or after it, and receives none again.

    Known to the client is what the application received before the connection ended. Not judged are readers that
    request redelivery, those that include the message they start at, and those whose messages a fault altered or
    duplicated.
    """

    requirement = RequirementId("subscription.reader-resumes-after-last-read")
    needs = (Trait.READER,)

    def start(self) -> None:
        self._judges = not any(
            step.who is Who.BROKER and step.verb in _ID_CHANGING_VERBS for step in self.view.case.steps
        )
        self._readings: dict[int, _Reading] = {}
        self._unsure: set[int] = set()
        self._whole: list[tuple[_Reading, ConsumerSession, Received]] = []
        """Reconnects at a message inside a batch that named the whole entry."""

    # --- what the application received ---

    @on(Invoke, "seek")
    def seeks(self, event: Invoke) -> None:
        self._readings[event.handle or 0] = _Reading(seeking=True)

    @on(Completion, "seek")
    def sought(self, event: Completion) -> None:
        if event.outcome is not Outcome.OK:
            self._unsure.add(event.handle or 0)
        elif (reading := self._readings.get(event.handle or 0)) is not None:
            reading.seeking = False

    @on(Received)
    def received(self, event: Received) -> None:
        consumer = self.tracker.opened_consumers.get(event.handle)
        reading = self._readings.setdefault(event.handle, _Reading())
        if consumer is None or reading.seeking or event.handle in self._unsure or not self._is_judged(consumer):
            return
        if not reading.received or _place(event) > _place(reading.received[-1]):
            reading.received.append(event)
            if reading.known is not None:
                self.exercise(event)
        elif reading.known is not None and _place(event) <= _place(reading.known):
            assert reading.request is not None
            self.breach(
                "handed-over-again",
                f"reader {event.handle} had received {_named(reading.known)} at {ms(reading.known.t_ns)}, and "
                f"reconnected at {ms(reading.request.t_ns)}; expected only later messages; it received {_named(event)} "
                f"at {ms(event.t_ns)}",
                reading.known,
                reading.request,
                event,
            )
        else:
            self._unsure.add(event.handle)

    # --- what makes that uncertain ---

    @on(Frame, "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def redelivery_requested(self, event: Frame) -> None:
        self._stop_judging(event)

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if event.fate in FORGED_OR_DOUBLED:
            self._stop_judging(event)

    def _stop_judging(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None:
            self._unsure.add(session.consumer.handle)

    # --- reconnecting ---

    @on(Frame, "SUBSCRIBE", seen=LEFT)
    def subscribes(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        consumer = session.consumer if session is not None else None
        if session is None or consumer is None or consumer.handle in self._unsure or not self._is_judged(consumer):
            return
        if event.fields.get("subType") != "Exclusive" or event.fate is Fate.ALTERED:
            self._unsure.add(consumer.handle)
            return
        reading, before = self._readings.get(consumer.handle), _session_before(session)
        if reading is None or reading.seeking or before is None or before.ended is None:
            return
        end_ns = before.ended.t_ns - TOLERANCES["crossing"].slack_ns
        known = [one for one in reading.received if ended_ns(one) < end_ns]
        reading.known, reading.request = known[-1] if known else None, event
        if reading.known is not None:
            self._judge(session, reading, reading.known)

    def _judge(self, session: ConsumerSession, reading: _Reading, known: Received) -> None:
        place = _start(session.request.fields.get("start_message_id"))
        if place is None or place < _place(known):
            how = "named no message of it" if place is None else _named_place(place)
            self._report("starts-elsewhere", session, known, how)
        elif place == (known.message_id.position, WHOLE) and known.message_id.batch_index >= 0:
            self._whole.append((reading, session, known))
        else:
            self.exercise(session.request)

    def finish(self) -> None:
        """Judge last: messages received before a reconnect may be recorded after it, and what a topic stores, later."""
        for reading, session, known in self._whole:
            if known.message_id.batch_index + 1 >= self._size(session.topic, known):
                continue
            until_ns = session.request.t_ns + TOLERANCES["notice"].slack_ns
            if not any(_place(one) > _place(known) and ended_ns(one) < until_ns for one in reading.received):
                self._report("names-whole-entry", session, known, f"named {known.message_id.name} without an index")

    def _report(self, code: str, session: ConsumerSession, known: Received, how: str) -> None:
        self.breach(
            code,
            f"reader {known.handle} had received {_named(known)} at {ms(known.t_ns)}; expected it to name that message "
            f"or a later one when it reconnected at {ms(session.request.t_ns)}; it {how}",
            known,
            session.request,
        )

    def _is_judged(self, consumer: OpenedConsumer) -> bool:
        topic = self.view.case.topology.named(consumer.topics[0]) if len(consumer.topics) == 1 else None
        one = topic is not None and topic.persistent and not topic.partitions
        config = consumer.invoke.args.get("config") or {}
        reader = config.get("durable", True) is False and not in_force(self.view, consumer, "start_inclusive")
        return self._judges and one and reader

    def _size(self, topic: str, event: Received) -> int:
        """Return how many messages its entry holds; 0 where that is unknown."""
        stored = self.tracker.stored.get(topic, [])
        return next((entry.meta.messages for entry in stored if entry.id.position == event.message_id.position), 0)


def _session_before(session: ConsumerSession) -> ConsumerSession | None:
    """Return the last earlier session of its consumer that was admitted."""
    sessions = session.consumer.sessions if session.consumer is not None else []
    return next((one for one in reversed(sessions) if one is not session and one.ready is not None), None)


def _place(event: Received) -> Place:
    return event.message_id.position, max(event.message_id.batch_index, 0)


def _named(event: Received) -> str:
    index = event.message_id.batch_index
    return event.message_id.name + (f" (index {index})" if index >= 0 else "")


def _start(start: Mapping[str, Any] | None) -> Place | None:
    position = place_named(start)
    if position is None or position == FIRST:
        return None
    index = int((start or {}).get("batch_index", -1))
    return position, index if index >= 0 else WHOLE


def _named_place(place: Place) -> str:
    (ledger, entry), index = place
    return f"named {ledger}:{entry}" + ("" if index == WHOLE else f" (index {index})")
