"""Markers are stored whatever their sequence id is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import calls_markers
from assay_conformance.pulsar.checks.dedup._names import effective_highest_id
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy


@dataclass(slots=True)
class _Name:
    """The highest id of a message, and the marker with the highest id."""

    last: int = -1
    marker: Frame | None = None
    waiting: dict[tuple[int, int], Frame] = field(default_factory=dict)
    """(connection, sequence id) -> a SEND whose answer is judged."""
    unanswered: Counter[tuple[int, int]] = field(default_factory=Counter)
    """(connection, sequence id) -> its unanswered SENDs: with several it is unknown which of them an answer is for."""


class MarkersAreExempt(Check):
    """A SEND that is marked as a marker is stored although its id was used before, and does not raise the last id: a
    message with an id between the last message's and the marker's is stored.

    Brokers send markers among themselves, as SENDs; here a fault turns a client's SEND into one.
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
        name.last = max(name.last, id, effective_highest_id(event))

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
            text = f"a marker with sequence id {sent.sequence_id}, which a message of its producer name had used before"
            self._breach("compared", text, sent, event)
        elif name.marker is not None and not self._may_be_loaded_as_message(name.marker, event):
            text = (
                f"a message with sequence id {sent.sequence_id}, higher than any message's and lower than a marker's "
                f"({name.marker.sequence_id}),"
            )
            self._breach("remembered", text, name.marker, sent, event)

    def _may_be_loaded_as_message(self, marker: Frame, answer: Frame) -> bool:
        """The log has a message where a fault made a marker of the SEND: a broker that loads the topic afterwards reads
        its id."""
        session = self.tracker.producer_of(answer)
        return session is not None and session.request.seq > marker.seq

    def _breach(self, code: str, text: str, *evidence: Frame) -> None:
        sent, answer = evidence[-2:]
        text = (
            f"{text} arrived at {ms(sent.t_ns)}; expected it to be stored; it was answered as a duplicate at "
            f"{ms(answer.t_ns)}"
        )
        self.breach(code, text, *evidence)

    def _name_of(self, event: Frame) -> _Name | None:
        session = self.tracker.producer_of(event)
        if session is None or session.name is None or base_topic(session.topic) not in self._topics:
            return None
        return self._names.setdefault((session.topic, session.name), _Name())
