"""The last sequence id a new producer is told."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.dedup import NO_SEQUENCE_ID, deduplicated
from assay_conformance.checks.dedup_broker.names import Name, checked_later, highest_id, told_highest
from assay_conformance.checks.dedup_broker.registrations import Registrations
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.event import Fate, Fired, Frame, Stepped, Stored
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic


class TellsLastId(Check):
    """PRODUCER_SUCCESS carries the highest id that has arrived under the name, and -1 without deduplication.

    At least what is stored has arrived; at most what was sent has: between the two lies what a broker refused. What was
    stored before the topic was loaded anew, or so long ago that its name may be forgotten, is another requirement's
    matter.
    """

    requirement = RequirementId("dedup.tells-last-id")
    skips_plain = True

    def start(self) -> None:
        steps = [step for step in self.view.case.steps if step.verb in ("store_entries", "set_policy")]
        changed = {step.args.get("topic") for step in steps}
        self._on = deduplicated(self.view) - changed
        self._off = {topic.name for topic in self.view.case.topology.topics if not topic.deduplication} - changed
        self._loads = Loads(self.view.case)
        self._idle_ns = self.view.case.topology.settings.dedup_idle_minutes * 60_000 * MS
        self._names: dict[tuple[str, str], Name] = {}
        self._registrations = Registrations()

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        self._loads.see(event)

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        self._registrations.ask(event)

    @on(Frame, "CLOSE_PRODUCER")
    def close_producer(self, event: Frame) -> None:
        self._registrations.close(event)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        self._registrations.refuse(event)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        session = self.tracker.producer_of(event) if self._on else None
        if session is not None and session.name is not None and event.to_receiver:
            name = self._names.setdefault((session.topic, session.name), Name())
            name.arrived = max(name.arrived, event.sequence_id or 0, told_highest(event))

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._on and not checked_later(event.meta):
            name = self._names.setdefault((event.topic, event.meta.producer_name), Name())
            name.stored = max(name.stored, highest_id(event))
            name.loads = self._loads.of(event.topic)
            name.stored_ns = event.t_ns

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        forged = event.fate is Fate.INJECTED
        if event.dir is not Direction.TO_CLIENT or not event.from_sender or forged:
            return
        request = self._registrations.answered(event)
        if request is None or event.fields.get("producer_ready") is False:
            return
        topic = self.tracker.local_topic(str(request.fields.get("topic")))
        base = base_topic(topic)
        if base not in self._on | self._off:
            return
        known = self._names.get((topic, str(event.fields.get("producer_name"))), Name()) if base in self._on else Name()
        told = int(event.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        fresh = known.loads == self._loads.of(topic) and event.t_ns - known.stored_ns <= self._idle_ns
        least = known.stored if fresh else NO_SEQUENCE_ID
        if least <= told <= max(known.arrived, known.stored):
            if least > NO_SEQUENCE_ID:
                self.exercise(event)
            return
        self.breach(
            "wrong-last-id",
            f"PRODUCER_SUCCESS for producer {event.fields.get('producer_name')} on topic {topic} at {ms(event.t_ns)} "
            f"says that {told} was its last sequence id; {known.stored} is stored and {known.arrived} has arrived",
            event,
        )
