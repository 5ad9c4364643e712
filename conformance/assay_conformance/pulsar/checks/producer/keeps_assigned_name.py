"""producer.keeps-assigned-name"""

from __future__ import annotations

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.lines import Line
from assay_conformance.model.event import Completion, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


class KeepsAssignedName(Check):
    """A producer without a configured name comes back under the one the broker gave it, and says whose it is.

    That the client has read a name is certain once the application was told that the producer is open. Where it took
    several registrations until then, each with another name, any of them may be the one it read.
    """

    requirement = RequirementId("producer.keeps-assigned-name")
    skips_plain = True

    def start(self) -> None:
        self._opened: dict[int, Completion] = {}

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        if event.outcome is Outcome.OK and event.handle is not None:
            self._opened[event.handle] = event

    @on(Frame, "PRODUCER")
    def producer(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        line = None if session is None else session.line
        if not event.from_sender or line is None or line.handle not in self._opened:
            return
        opened = self._opened[line.handle]
        answers = [before.ready for before in line.sessions if before.ready and before.ready.seq < opened.seq]
        if not answers or self.view.producer_setting(line.handle, "producer_name"):
            return
        self.exercise(event)
        name = event.fields.get("producer_name")
        if name not in [answer.fields.get("producer_name") for answer in answers]:
            self._breach(line, "other-name", answers[-1], event, f"asked for the name {name!r}")
        elif event.fields.get("user_provided_producer_name", True):
            came = "did not say that the name came from the broker (user_provided_producer_name = false)"
            self._breach(line, "claims-own-name", answers[-1], event, came)

    def _breach(self, line: Line, code: str, ready: Frame, event: Frame, came: str) -> None:
        sentence = (
            f"producer {line.handle} was named {ready.fields.get('producer_name')} by the broker at {ms(ready.t_ns)}; "
            f"its PRODUCER on connection {event.conn} at {ms(event.t_ns)} {came}"
        )
        self.breach(code, sentence, ready, event)
