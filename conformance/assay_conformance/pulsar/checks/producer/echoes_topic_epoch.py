"""producer.echoes-topic-epoch"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.checks.refusals import was_read
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class EchoesTopicEpoch(Check):
    """A producer that was given an epoch and read it says it whenever it comes back."""

    requirement = RequirementId("producer.echoes-topic-epoch")
    skips_plain = True

    def start(self) -> None:
        self._asked: dict[tuple[int, int], ProducerSession] = {}
        self._given: dict[int, tuple[ProducerSession, Frame, int]] = {}

    @on(Frame, "PRODUCER")
    def asked(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is None or session.line is None or session.line.handle is None or not from_client(event):
            return
        self._asked[event.conn, event.request_id or 0] = session
        line = session.line
        if id(line) not in self._given:
            return
        before, given, epoch = self._given[id(line)]
        # Who sent anything had read that it was let in.
        if before.furthest is None and not was_read(self, given, alone=False):
            return
        self.exercise(event)
        said = event.fields.get("topic_epoch")
        if said != epoch:
            self.breach(
                "epoch-not-said",
                f"{line} was given epoch {epoch} of {line.topic} at {ms(given.t_ns)}; it came back at "
                f"{ms(event.t_ns)} with {'none' if said is None else said}, and nobody can tell that another had the "
                "topic meanwhile",
                given,
                event,
            )

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        session = self._asked.pop((event.conn, event.request_id or 0), None)
        if session is not None and to_client(event) and "topic_epoch" in event.fields:
            self._given[id(session.line)] = (session, event, int(event.fields["topic_epoch"]))
