"""Code of the application inside the client: when it is called, with what, and what comes of its answers.

Its calls are notes of the agent. Those of one agent are in its own order; against the wire they are not ordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.routing import Routed, RoutingCheck
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import AgentEnded, Completion, ErrorClass, Note, Outcome
from assay_conformance.model.hooks import ACKNOWLEDGED, BEFORE_SEND, ROUTER
from assay_conformance.model.payload import is_identified
from assay_conformance.model.requirement import RequirementId

Message = tuple[int, int]
"""Producer handle and number."""


def _all_known(sends: Iterable[Operation]) -> bool:
    """What code of the application sees of a message is its payload, and the smallest do not say their number."""
    return all(is_identified(send.invoke.size) for send in sends)


class _RouterCheck(RoutingCheck):
    """Messages of producers with a router of the application, and its answers."""

    def start(self) -> None:
        super().start()
        self.answers: dict[Message, list[Note]] = {}
        self.left: dict[Message, Routed] = {}
        self.told_all = True

    def is_own(self, handle: int) -> bool:
        return not super().is_own(handle)

    @on(Note)
    def noted(self, event: Note) -> None:
        if event.text == ROUTER and event.handle is not None:
            self.answers.setdefault((event.handle, int(event.values["number"])), []).append(event)

    @on(AgentEnded)
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self.told_all = False

    def routed(self, message: Routed) -> None:
        self.left.setdefault((message.handle, message.number), message)


class AsksRouterOnce(_RouterCheck):
    """Each message that left, with what the router had been asked."""

    requirement = RequirementId("routing.custom-router-called-once")

    def finish(self) -> None:
        for key, message in self.left.items() if self.told_all else ():
            if not _all_known(self.tracker.sends.get(message.handle, ())):
                continue
            said = self.answers.get(key, [])
            found = self._wrong(message, said)
            if found is None:
                self.exercise(message.frame)
            else:
                code, what = found
                self.breach(
                    code,
                    f"{message} went to partition {message.partition} of {message.partitions} at "
                    f"{ms(message.frame.t_ns)}; its router {what}",
                    *said[:2],
                    message.frame,
                )

    def _wrong(self, message: Routed, said: list[Note]) -> tuple[str, str] | None:
        if len(said) != 1:
            return ("asked-again", f"was asked {len(said)} times") if said else ("not-asked", "was not asked")
        partitions, answer = said[0].values["partitions"], said[0].values["answer"]
        if partitions != message.partitions:
            return "wrong-count", f"was told of {partitions} partitions"
        return None if answer == message.partition else ("not-heard", f"had answered {answer}")


_OWN_ENDS = (ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL, ErrorClass.TIMEOUT, ErrorClass.CLOSED)
"""How a send may end by its size, or by what its producer is set to."""


class BadAnswerFailsOne(_RouterCheck):
    """Answers that name no partition; and the sends of the same producer behind the first of them."""

    requirement = RequirementId("routing.invalid-partition-fails-one-send")

    def finish(self) -> None:
        bad: dict[int, Note] = {}
        for (handle, number), said in self.answers.items():
            send, note = self.tracker.send_of(handle, number), said[0]
            known = _all_known(self.tracker.sends.get(handle, ()))
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


class InterceptsFirst(Check):
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
            if self.view.producer_setting(handle, "interceptor") is None or not _all_known(sends):
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
