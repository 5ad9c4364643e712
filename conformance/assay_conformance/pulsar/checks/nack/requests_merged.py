"""Refusals that are due together leave together."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import buries, of_batch
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import Request, RequestCheck
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.nack._windows import LEAST_DELAY_MS, WIDEST_TICK_FRACTION

IDS_OF_A_COMMAND = 1_000
"""Clients split a request that names more."""


@dataclass(slots=True)
class _Together:
    """The messages of one call, and the commands that have asked for some of them."""

    calls: dict[Entry, Call]
    commands: list[Frame] = field(default_factory=list)
    whole: int = 0


def _took_ns(invoke: Invoke, completion: Completion) -> int:
    """How long the client took its messages over, by its agent's clock where that tells it: the way of the agent's word
    to us may be longer."""
    if completion.called_ns is None or completion.done_ns is None:
        return completion.t_ns - invoke.t_ns
    return completion.done_ns - completion.called_ns


class RequestsMerged(RequestCheck):
    """Messages refused by one call are due together, but for the moment that the client needed to take them over.

    They leave by one command, one more when a tick of its timer fell into that moment, and by more only for more ids
    than a command takes.
    """

    requirement = RequirementId("nack.requests-merged")
    needs = ((Invoke, "nack"),)

    def start(self) -> None:
        self._together: dict[int, _Together] = {}
        self._requested: dict[int, _Together] = {}
        """All asked for, while the agent's word that the call ended is still on its way."""

    def asked(self, call: Call) -> None:
        calls = self.tracker.calls.get(call.invoke.op, ())
        if call.invoke.verb != "nack" or call.invoke.op in self._together or self.session_of(call) is None:
            return
        if buries(self.view, call.consumer):
            return  # Those whose letters cannot be sent come back one by one.
        entries = {each.entry: each for each in calls if not of_batch(each.message.message_id)}
        if len(entries) > 2 and len({entry.topic for entry in entries}) == 1:
            self._together[call.invoke.op] = _Together(entries, whole=len(entries))

    def redeliver(self, request: Request) -> None:
        if not request.frame.ids:
            return
        for op, together in list(self._together.items()):
            named = request.asks_for((call.consumer.handle, entry) for entry, call in together.calls.items())
            if named:
                together.commands.append(request.frame)
                for _, entry in named:
                    del together.calls[entry]
                if not together.calls:
                    self._requested[op] = self._together.pop(op)
                    self._judge(op, request.consumer)

    @on(Completion, "nack")
    def completed(self, event: Completion) -> None:
        if event.op in self._requested and event.handle is not None:
            self._judge(event.op, self.tracker.opened_consumers[event.handle])

    def _judge(self, op: int, consumer: OpenedConsumer) -> None:
        operation, together = self.tracker.operations[op], self._requested[op]
        invoke, completion = operation.invoke, operation.completion
        if completion is None:
            return
        del self._requested[op]
        if completion.outcome is not Outcome.OK:
            return
        ticks = _took_ns(invoke, completion) // round(LEAST_DELAY_MS * MS * WIDEST_TICK_FRACTION)
        most = -(-together.whole // IDS_OF_A_COMMAND) + 1 + ticks
        if len(together.commands) <= most:
            self.exercise(together.commands[-1])
            return
        self.breach(
            "not-merged",
            f"consumer {consumer.handle} was told by one call that {together.whole} messages are refused and asked for "
            f"them by {len(together.commands)} commands, expected {most} at most",
            invoke,
            *together.commands[:2],
        )

    def over(self, session: ConsumerSession, event: Event) -> None:
        del event
        for op, together in list(self._together.items()):
            if any(call.consumer is session.consumer for call in together.calls.values()):
                del self._together[op]
