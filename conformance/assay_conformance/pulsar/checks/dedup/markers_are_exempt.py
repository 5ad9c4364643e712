"""Markers: what passes deduplication whatever its id."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import calls_markers
from assay_conformance.pulsar.checks.dedup._names import told_highest
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy


@dataclass(slots=True)
class _Name:
    """The highest id that came with a message, and the marker with the highest one."""

    last: int = -1
    marker: Frame | None = None
    waiting: dict[tuple[int, int], Frame] = field(default_factory=dict)
    """(connection, sequence id) -> a SEND whose answer tells something."""
    unanswered: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(connection, sequence id) -> SENDs without an answer: of several with one id nobody knows which gets it."""


class MarkersAreExempt(Check):
    """A SEND whose command says that it is a marker: with an id that was there before it is stored, and a message with
    an id behind the last message's is stored however high a marker's was.

    Brokers send markers among themselves, as SENDs; here a fault calls a client's SEND one.
    """

    requirement = RequirementId("dedup.markers-are-exempt")

    def start(self) -> None:
        topics = self.view.case.topology.topics if calls_markers(self.view.case) else ()
        self._topics = {topic.name for topic in topics if topic.deduplication}
        self._names: dict[tuple[str, str], _Name] = {}

    def concerned(self) -> bool:
        return bool(self._topics)

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        name = self._name_of(event)
        if name is None or not event.at_broker or event.sequence_id is None:
            return
        id = event.sequence_id
        place = (event.conn, id)
        name.waiting.pop(place, None)
        name.unanswered[place] += 1
        is_alone = name.unanswered[place] == 1
        if event.fields.get("marker"):
            if id <= name.last and is_alone:
                name.waiting[place] = event
            if name.marker is None or id > (name.marker.sequence_id or 0):
                name.marker = event
            return
        if name.marker is not None and name.last < id <= (name.marker.sequence_id or 0) and is_alone:
            name.waiting[place] = event
        name.last = max(name.last, id, told_highest(event))

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR")
    def answer(self, event: Frame) -> None:
        name = self._name_of(event)
        if name is None or not event.from_sender:
            return
        place = (event.conn, event.sequence_id or 0)
        name.unanswered[place] = max(0, name.unanswered[place] - 1)
        sent = name.waiting.pop(place, None)
        if sent is None:
            return
        if not is_taken_for_copy(event):
            if event.command == "SEND_RECEIPT":
                self.exercise(event)
            return
        if sent.fields.get("marker"):
            text = f"a marker with sequence id {sent.sequence_id}, which a message of its producer's name had before,"
            self._breach("compared", text, sent, event)
        elif name.marker is not None and not self._may_be_read_otherwise(name.marker, event):
            text = f"a message with sequence id {sent.sequence_id}, behind a marker with {name.marker.sequence_id},"
            self._breach("remembered", text, name.marker, sent, event)

    def _may_be_read_otherwise(self, marker: Frame, answer: Frame) -> bool:
        """What a fault made a marker of is none in the log: a broker that loads the topic since reads its id there."""
        session = self.tracker.producer_of(answer)
        return session is not None and session.request.seq > marker.seq

    def _breach(self, code: str, text: str, *evidence: Frame) -> None:
        sent, answer = evidence[-2:]
        self.breach(code, f"{text} came at {ms(sent.t_ns)} and was taken for a copy at {ms(answer.t_ns)}", *evidence)

    def _name_of(self, event: Frame) -> _Name | None:
        session = self.tracker.producer_of(event)
        if session is None or session.name is None or base_topic(session.topic) not in self._topics:
            return None
        return self._names.setdefault((session.topic, session.name), _Name())
