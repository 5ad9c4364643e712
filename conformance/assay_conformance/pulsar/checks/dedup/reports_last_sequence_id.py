"""The last sequence id that a new producer gets in PRODUCER_SUCCESS."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Event, Fired, Frame, Stepped, Stored
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, deduplicated
from assay_conformance.pulsar.checks.dedup._names import Name, checked_later, effective_highest_id, highest_id
from assay_conformance.pulsar.checks.dedup._registrations import LastIdCheck


class _Wrong(NamedTuple):
    """An answer that is wrong unless its topic was just loaded again; `loads`: how often it was loaded by then."""

    topic: str
    loads: int
    sentence: str
    event: Frame


class ReportsLastSequenceId(LastIdCheck):
    """PRODUCER_SUCCESS carries the highest id that has arrived under the name, and -1 without deduplication.

    Accepted is any id from the highest stored one to the highest that arrived: what the broker refused lies between.
    What was stored before the topic was loaded again, or so long ago that its name may be forgotten, is judged by other
    requirements.
    """

    requirement = RequirementId("dedup.reports-last-sequence-id")
    skips_plain = True

    def start(self) -> None:
        super().start()
        steps = [step for step in self.view.case.steps if step.verb in ("store_entries", "set_policy")]
        changed = {step.args.get("topic") for step in steps}
        self._deduplicated = deduplicated(self.view) - changed
        self._not_deduplicated = {
            topic.name for topic in self.view.case.topology.topics if not topic.deduplication
        } - changed
        self._loads = Loads(self.view.case)
        self._idle_ns = self.view.case.topology.settings.dedup_idle_minutes * 60_000 * MS
        self._names: dict[tuple[str, str], Name] = {}
        self._wrong: list[_Wrong] = []

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        """Waiting producers are answered while the topic is loaded again, and the step is recorded after that."""
        self._loads.see(event)
        self._wrong = [one for one in self._wrong if one.loads == self._loads.of(one.topic) or self._is_old(one, event)]

    @staticmethod
    def _is_old(wrong: _Wrong, loaded: Event) -> bool:
        return loaded.t_ns - wrong.event.t_ns > IN_FLIGHT_NS

    def finish(self) -> None:
        for wrong in self._wrong:
            self.breach("wrong-last-id", wrong.sentence, wrong.event)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) if self._deduplicated else None
        if session is not None and session.name is not None and event.to_receiver:
            name = self._names.setdefault((session.topic, session.name), Name())
            name.arrived = max(name.arrived, event.sequence_id or 0, effective_highest_id(event))

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._deduplicated and not checked_later(event.meta):
            name = self._names.setdefault((event.topic, event.meta.producer_name), Name())
            name.stored = max(name.stored, highest_id(event))
            name.loads = self._loads.of(event.topic)
            name.stored_ns = event.t_ns

    def last_id_reported(self, topic: str, name: str, last_id: int, event: Frame) -> None:
        base = base_topic(topic)
        if base not in self._deduplicated | self._not_deduplicated:
            return
        known = self._names.get((topic, name), Name()) if base in self._deduplicated else Name()
        fresh = known.loads == self._loads.of(topic) and event.t_ns - known.stored_ns <= self._idle_ns
        least = known.stored if fresh else NO_SEQUENCE_ID
        if least <= last_id <= max(known.arrived, known.stored):
            if least > NO_SEQUENCE_ID:
                self.exercise(event)
            return
        sentence = (
            f"PRODUCER_SUCCESS for producer {name} on topic {topic} at {ms(event.t_ns)} carries {last_id} as its last "
            f"sequence id; expected one from {least}, the highest stored, to {max(known.arrived, known.stored)}, the "
            "highest that arrived"
        )
        self._wrong.append(_Wrong(topic, self._loads.of(topic), sentence, event))
