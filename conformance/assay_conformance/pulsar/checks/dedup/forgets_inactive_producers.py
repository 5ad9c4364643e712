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
"""How late a broker on a busy machine may be with what it does at intervals."""

Place = tuple[int, int]
"""Connection and producer id."""
Name = tuple[str, str]
"""Topic and producer name."""


@dataclass(slots=True)
class _Used:
    """A name under which something is stored, and since when it has no producer."""

    stored: Stored
    highest: int
    loads: int
    left: Event | None = None


class ForgetsInactiveProducers(Check):
    """Judged on what a producer is told whose name nobody had, or whose last message is older than the time-out.

    A broker that loads a topic counts from there: names that were there before are not judged.
    """

    requirement = RequirementId("dedup.forgets-inactive-producers")

    def start(self) -> None:
        self._topics = deduplicated(self.view)
        self._limit_ns = self.view.case.topology.settings.dedup_idle_minutes * 60_000 * MS
        self._loads = Loads(self.view.case)
        self._used: dict[Name, _Used] = {}
        self._asked: dict[tuple[int, int], tuple[Place, str]] = {}
        self._held: dict[Place, Name] = {}
        self._here: Counter[Name] = Counter()

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
    def asked(self, event: Frame) -> None:
        if event.to_receiver and event.fate is not Fate.DUPLICATED:
            topic = self.tracker.local_topic(str(event.fields.get("topic")))
            self._asked[event.conn, event.request_id or 0] = ((event.conn, event.producer_id or 0), topic)

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        asked = self._asked.pop((event.conn, event.request_id or 0), None)
        if asked is None or not event.from_sender or event.fate is Fate.INJECTED or asked[0] in self._held:
            return
        place, topic = asked
        name = (topic, str(event.fields.get("producer_name")))
        used = self._used.get(name)
        if used is not None and not self._here[name] and used.loads == self._loads.of(topic):
            self._told(name, used, event)
            if _last_id(event) < used.highest:
                # Forgotten, rightly or not: nobody is told of it any more.
                del self._used[name]
        self._held[place] = name
        self._here[name] += 1

    def _told(self, name: Name, used: _Used, event: Frame) -> None:
        if used.left is None or event.t_ns - used.stored.t_ns < self._limit_ns:
            return
        unused_ns = event.t_ns - used.left.t_ns
        told = _last_id(event)
        if unused_ns > self._limit_ns + self._limit_ns // 3 + SWEPT_NS:
            self.exercise(event)
            if told != NO_SEQUENCE_ID:
                self._breach(
                    "remembered", f"should be forgotten, and {told} is told to be its last id", name, used, event
                )
        elif unused_ns < self._limit_ns - SWEPT_NS:
            self.exercise(event)
            if told < used.highest:
                words = f"should be known with its last id {used.highest}, and {told} is told"
                self._breach("forgotten-in-use", words, name, used, event)

    def _breach(self, code: str, words: str, name: Name, used: _Used, event: Frame) -> None:
        assert used.left is not None
        self.breach(
            code,
            f"producer name {name[1]} of topic {name[0]}, without a producer from {ms(used.left.t_ns)} to "
            f"{ms(event.t_ns)}, {words}",
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
        for place in [place for place in self._held if place[0] == event.conn]:
            self._leaves(place, event)

    def _leaves(self, place: Place, event: Frame | Closed) -> None:
        name = self._held.pop(place, None)
        if name is None:
            return
        self._here[name] -= 1
        if (used := self._used.get(name)) is not None:
            used.left = event


def _last_id(success: Frame) -> int:
    return int(success.fields.get("last_sequence_id", NO_SEQUENCE_ID))
