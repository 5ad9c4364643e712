"""One fault of a Case while the Case runs: armed, begun, over."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep, AtTime, Fault, OnFrame, Refuse
from assay_faults.actions import ACTS, NS_PER_MS, Outside
from assay_faults.channel import Wait
from assay_faults.triggers import FrameTrigger


class ActiveFault:
    """Fault `number` of the plan. Raises UsageError, naming the fault, for one that cannot work.

    Where `listener` is given, only connections to that listener meet it.

    It begins when its trigger first fires and is over when its `until` comes, when it is healed, or when its trigger
    has fired for the last time and nothing that it did goes on. `until.frame` counts from there on, without the frame
    that triggered it.
    """

    def __init__(self, number: int, fault: Fault, next_number: Callable[[], int], listener: str | None = None) -> None:
        self.number = number
        self.fault = fault
        self.listener = listener
        self.next_number = next_number
        self.begun = False
        self.over = False
        self.fired = 0
        self.ends_ns: int | None = None
        self.end: FrameTrigger | None = None
        self._waits: list[Wait] = []
        self._refusal = Wait(done=True)
        try:
            self.trigger = self._frame_trigger()
            kind = self.trigger.kind if self.trigger else None
            direction = self.trigger.on.direction if self.trigger else None
            self.act = ACTS[type(fault.action)](fault.action, kind, direction)
            self._end()
        except UsageError as error:
            raise UsageError(f"fault {number}: {error}") from error

    @property
    def action(self) -> str:
        """The name of what it does."""
        return str(self.fault.action.__struct_config__.tag)

    @property
    def outside(self) -> bool:
        """Whether an injector carries it out."""
        return isinstance(self.act, Outside)

    @property
    def at_ns(self) -> int | None:
        """When a trigger by time fires."""
        trigger = self.fault.trigger
        return trigger.at_ms * NS_PER_MS if isinstance(trigger, AtTime) else None

    def is_due_at(self, now_ns: int) -> bool:
        return self.at_ns is not None and self.at_ns <= now_ns and not self.begun

    def is_due_after(self, step: int) -> bool:
        trigger = self.fault.trigger
        return isinstance(trigger, AfterStep) and trigger.step == step

    def ends_at(self, now_ns: int) -> bool:
        return self.ends_ns is not None and self.ends_ns <= now_ns

    def ends_after(self, step: int) -> bool:
        until = self.fault.until.step
        return until is not None and step >= until

    def begin(self, now_ns: int) -> None:
        """Note that the trigger has fired for the first time, and begin to count towards the fault's end."""
        self.begun = True
        self.end = self._end()
        if isinstance(self.fault.action, Refuse):
            self._refusal = self.hold(Wait())
        if self.fault.until.after_ms is not None:
            self.ends_ns = now_ns + self.fault.until.after_ms * NS_PER_MS

    def finish(self) -> None:
        """End the fault: it no longer acts, and what it held back is released."""
        self.over = True
        for wait in self._waits:
            wait.done = True

    @property
    def spent(self) -> bool:
        """Whether nothing that it did goes on, and nothing can make it act again."""
        self._waits = [wait for wait in self._waits if not wait.done]
        exhausted = self.trigger is None or self.trigger.exhausted
        return self.begun and exhausted and not self._waits

    def refuses(self, conn: int, broker: int, listener: str) -> bool:
        """Return whether the fault refuses connection `conn`, which is being opened to this listener of `broker`."""
        scope = self.fault.scope
        # A trigger on a frame has used `scope.connection` for that frame; otherwise it names whom to refuse.
        named = scope.connection if self.trigger is None else None
        return (
            not self._refusal.done
            and named in (None, conn)
            and scope.broker in (None, broker)
            and self.listener in (None, listener)
        )

    def acted(self) -> int:
        """Count one more act and return how many there were.

        The last refusal of a limited number ends the fault.
        """
        self.fired += 1
        action = self.fault.action
        if isinstance(action, Refuse) and self.fired == action.connections:
            self._refusal.done = True
        return self.fired

    def hold(self, wait: Wait) -> Wait:
        """Make `wait` end with the fault at the latest; until it ends, the fault is not spent."""
        self._waits.append(wait)
        return wait

    def _frame_trigger(self) -> FrameTrigger | None:
        trigger = self.fault.trigger
        return FrameTrigger(trigger, self.fault.scope, self.listener) if isinstance(trigger, OnFrame) else None

    def _end(self) -> FrameTrigger | None:
        until = self.fault.until.frame
        return None if until is None else FrameTrigger(until, self.fault.scope, self.listener)


def check_faults(faults: Iterable[Fault], where: str) -> None:
    """Raise UsageError, naming `where`, for a fault that can neither begin by a frame nor by anything else."""
    for number, fault in enumerate(faults):
        try:
            ActiveFault(number, fault, int)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
