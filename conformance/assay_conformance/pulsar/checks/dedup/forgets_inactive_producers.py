"""Producer names that had no producer for so long that a broker forgets them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Closed, Event, Fate, Fired, Frame, Stepped, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import checked_later, highest_id

SWEPT_NS = 2_000 * MS
"""How late a busy broker may be with its periodic clean-up."""

Place = tuple[int, int]
"""Connection and producer id."""
Name = tuple[str, str]
"""Topic and producer name."""


@dataclass(slots=True)
class _Used:
    """A name under which something is stored, and the event since which it has no producer."""

    stored: Stored
    highest: int
    loads: int
    left: Event | None = None


class ForgetsInactiveProducers(Check):
    """Judged by the last sequence id that a registration gets, for a name that had no producer and sent nothing for
    about the inactivity time-out.

    A broker that loads a topic counts from then on: names from before the load are not judged.
    """

    requirement = RequirementId("dedup.forgets-inactive-producers")

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._limit_ns = self.view.case.topology.settings.dedup_idle_minutes * 60_000 * MS
        self._loads = Loads(self.view.case)
        self._used: dict[Name, _Used] = {}
        self._requests: dict[tuple[int, int], tuple[Place, str]] = {}
        self._registered: dict[Place, Name] = {}
        self._producers_of: Counter[Name] = Counter()

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        self._loads.see(event)

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if base_topic(event.topic) in self._topics and not checked_later(event.meta):
            name = (event.topic, event.meta.producer_name)
            self._used[name] = _Used(event, highest_id(event), self._loads.of(event.topic))

    @on(Frame, "PRODUCER")
    def producer_requested(self, event: Frame) -> None:
        if event.to_receiver and event.fate is not Fate.DUPLICATED:
            topic = self.tracker.local_topic(str(event.fields.get("topic")))
            self._requests[event.conn, event.request_id or 0] = ((event.conn, event.producer_id or 0), topic)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        request = self._requests.pop((event.conn, event.request_id or 0), None)
        if request is None or not event.from_sender or event.fate is Fate.INJECTED or request[0] in self._registered:
            return
        place, topic = request
        name = (topic, str(event.fields.get("producer_name")))
        used = self._used.get(name)
        if used is not None and not self._producers_of[name] and used.loads == self._loads.of(topic):
            self._judge(name, used, event)
            if _last_id(event) < used.highest:
                # Forgotten, rightly or not: later answers do not name it either.
                del self._used[name]
        self._registered[place] = name
        self._producers_of[name] += 1

    def _judge(self, name: Name, used: _Used, event: Frame) -> None:
        if used.left is None or event.t_ns - used.stored.t_ns < self._limit_ns:
            return
        unused_ns = event.t_ns - used.left.t_ns
        last_id = _last_id(event)
        if unused_ns > self._limit_ns + self._limit_ns // 3 + SWEPT_NS:
            self.exercise(event)
            if last_id != NO_SEQUENCE_ID:
                self._breach(
                    "remembered",
                    f"expected no last sequence id (-1), since the name was inactive too long; got {last_id}",
                    name,
                    used,
                    event,
                )
        elif unused_ns < self._limit_ns - SWEPT_NS:
            self.exercise(event)
            if last_id < used.highest:
                text = (
                    f"expected its last sequence id {used.highest}, since the name is not inactive for long enough; "
                    f"got {last_id}"
                )
                self._breach("forgotten-in-use", text, name, used, event)

    def _breach(self, code: str, text: str, name: Name, used: _Used, event: Frame) -> None:
        assert used.left is not None
        self.breach(
            code,
            f"PRODUCER_SUCCESS at {ms(event.t_ns)} for producer name {name[1]} of topic {name[0]}, which had no "
            f"producer since {ms(used.left.t_ns)}: {text}",
            used.stored,
            used.left,
            event,
        )

    @on(Frame, "CLOSE_PRODUCER")
    def closed(self, event: Frame) -> None:
        if event.at_broker:
            self._leaves((event.conn, event.producer_id or 0), event)

    @on(Closed)
    def connection_ended(self, event: Closed) -> None:
        for place in [place for place in self._registered if place[0] == event.conn]:
            self._leaves(place, event)

    def _leaves(self, place: Place, event: Frame | Closed) -> None:
        name = self._registered.pop(place, None)
        if name is None:
            return
        self._producers_of[name] -= 1
        if (used := self._used.get(name)) is not None:
            used.left = event


def _last_id(success: Frame) -> int:
    return int(success.fields.get("last_sequence_id", NO_SEQUENCE_ID))
