"""routing.invalid-partition-fails-one-send"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Note, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hooks import RouterCheck, all_known

_OWN_ENDS = (ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL, ErrorClass.TIMEOUT, ErrorClass.CLOSED)
"""How a send may end by its size, or by what its producer is set to."""


class InvalidPartitionFailsOneSend(RouterCheck):
    """Answers that name no partition; and the sends of the same producer behind the first of them."""

    requirement = RequirementId("routing.invalid-partition-fails-one-send")

    def finish(self) -> None:
        bad: dict[int, Note] = {}
        for (handle, number), said in self.answers.items():
            send, note = self.tracker.send_of(handle, number), said[0]
            known = all_known(self.tracker.sends.get(handle, ()))
            if send is None or send.completion is None or not known:
                continue
            if not 0 <= note.values["answer"] < note.values["partitions"]:
                bad.setdefault(handle, note)
                self._refused(handle, number, note, send, send.completion)
            elif handle in bad:
                self._others(handle, number, bad[handle], send.completion)

    def _refused(self, handle: int, number: int, note: Note, send: Operation, end: Completion) -> None:
        left = self.left.get((handle, number))
        if left is None and end.outcome is not Outcome.OK:
            self.exercise(end)
            return
        self.breach(
            "sent-anyway",
            f"message {number} of producer {handle} was routed to partition {note.values['answer']} of "
            f"{note.values['partitions']}; its send was to fail, and ended {end.outcome} at {ms(end.t_ns)}"
            + ("" if left is None else f", having left for partition {left.partition}"),
            note,
            *([] if left is None else [left.frame]),
            end,
        )
        del send

    def _others(self, handle: int, number: int, bad: Note, end: Completion) -> None:
        """Without a fault they end well, or by what is wrong with themselves."""
        if end.outcome is not Outcome.OK and end.error not in _OWN_ENDS and not self.view.case.faults:
            self.breach(
                "others-fail",
                f"message {number} of producer {handle} had a partition, and its send ended {end.outcome} at "
                f"{ms(end.t_ns)}; the router had answered {bad.values['answer']} for another one before",
                bad,
                end,
            )
