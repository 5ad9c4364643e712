"""Sequence ids have to grow, and may leave gaps."""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import deduplicated

Place = tuple[int, int, int]
"""Connection, producer id and sequence id."""


class SequenceGapsAccepted(Check):
    """A SEND with an id more than one above all before of its producer name gets a receipt with an id.

    Chunks are not judged; their ids count for the SENDs after them."""

    requirement = RequirementId("dedup.sequence-gaps-accepted")

    def start(self) -> None:
        self._deduplicated = deduplicated(self.view)
        self._last: dict[tuple[str, str], int] = {}
        self._gaps: dict[Place, Frame] = {}

    def concerned(self) -> bool:
        return bool(self._deduplicated)

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        id = event.sequence_id
        if session is None or session.name is None or id is None or not event.at_broker or event.meta is None:
            return
        if base_topic(session.topic) not in self._deduplicated:
            return
        last = self._last.get((session.topic, session.name))
        place = (event.conn, session.producer_id, id)
        self._gaps.pop(place, None)  # Sent again: the first SEND may be stored without an answer.
        if last is not None and id > last + 1 and event.meta.chunk_id is None:
            self._gaps[place] = event
        self._last[session.topic, session.name] = max(id, event.highest_sequence_id or 0, last or 0)

    @on(Frame, "SEND_RECEIPT")
    def receipted(self, event: Frame) -> None:
        if event.producer_id is None or event.sequence_id is None or not event.at_broker:
            return
        sent = self._gaps.pop((event.conn, event.producer_id, event.sequence_id), None)
        if sent is None or not event.ids:
            return
        if not event.ids[0].is_duplicate_marker:
            self.exercise(event)
            return
        self.breach(
            "taken-for-a-copy",
            f"a SEND with sequence id {sent.sequence_id} arrived at {ms(sent.t_ns)}, above all ids of its producer "
            f"name; expected it to be stored; it was answered as a duplicate at {ms(event.t_ns)}",
            sent,
            event,
        )
