"""producer.interceptors-run-first"""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, Note, Outcome
from assay_conformance.model.hooks import ACKNOWLEDGED, BEFORE_SEND, ROUTER
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hooks import Message, all_known


class InterceptorsRunFirst(Check):
    """Messages of producers with an interceptor whose sends ended well."""

    requirement = RequirementId("producer.interceptors-run-first")
    needs = (Setting("producer", "interceptor"),)

    def start(self) -> None:
        self._notes: dict[Message, list[Note]] = {}

    @on(Note)
    def noted(self, event: Note) -> None:
        if event.handle is not None and "number" in event.values:
            self._notes.setdefault((event.handle, int(event.values["number"])), []).append(event)

    def finish(self) -> None:
        for handle, sends in self.tracker.sends.items():
            if self.view.producer_setting(handle, "interceptor") is None or not all_known(sends):
                continue
            for send in sends:
                if send.completion is not None and send.completion.outcome is Outcome.OK:
                    notes = self._notes.get((handle, send.invoke.number or 0), [])
                    self._judge(handle, send, send.completion, notes)

    def _judge(self, handle: int, send: Operation, end: Completion, notes: list[Note]) -> None:
        ahead = [note.text for note in notes if note.seq < end.seq]
        if sorted(note.text for note in notes if note.text != ROUTER) != sorted((BEFORE_SEND, ACKNOWLEDGED)):
            found = "not-once", "expected one call before it was sent and one at its end"
        elif ahead[0] != BEFORE_SEND:
            found = "behind-router", "expected the interceptor's call ahead of the router's"
        elif ahead[-1] != ACKNOWLEDGED:
            found = "told-late", "expected the interceptor to hear of its end before the application did"
        else:
            self.exercise(end)
            return
        code, expected = found
        self.breach(
            code,
            f"message {send.invoke.number} of producer {handle}, whose send ended at {ms(end.t_ns)}, had "
            f"{', '.join(_told(notes)) or 'no calls'}; {expected}",
            send.invoke,
            *notes[:2],
            end,
        )


def _told(notes: list[Note]) -> Iterator[str]:
    for note in notes:
        yield f"{note.text} at {ms(note.t_ns)}"
