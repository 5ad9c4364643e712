"""What the bench's own events say about an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from assay_conformance.checks.routes import on
from assay_conformance.checks.tolerance import MS, TOLERANCES, HeldUp, LoadRecord
from assay_conformance.judging.unreached import failed_steps, never_fired
from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Ended,
    Ending,
    Event,
    Fired,
    Opened,
    Overdue,
    Stepped,
    Stored,
    Waited,
)
from assay_conformance.model.fault import AfterStep, Cut, Fault
from assay_conformance.model.outside import Pause, Role
from assay_conformance.model.requirement import Requirement, RequirementId

SHORTEST_PAUSE_NS: Final = 100 * MS
"""What Cases leave a client for what it has to have begun by then, at least."""


class BenchFacts:
    """A listener beside the checks."""

    def __init__(self, load: LoadRecord) -> None:
        self.load = load
        self.fired: set[int] = set()
        self.left_by: set[int] = set()
        """Steps at whose end the client had closed what it had been connected by, and was not connected again."""
        self._open: set[int] = set()
        self._has_left = False
        self.overdue: list[Overdue] = []
        self.ended: Ended | None = None
        self.cut_short = ""
        """What kept the client from going through the Case, as the liveness requirement found it."""
        self.failed_steps: dict[int, str] = {}
        """What may have kept a precondition away, to be said after the reason, by its event; empty where nothing is
        known."""
        self.kept_away_by: RequirementId | None = None
        """The requirement that was broken by such a step: the failure is reported there."""
        self.broken: frozenset[RequirementId] = frozenset()
        """Requirements that something in the attempt breaks."""
        self.waited_for = ""
        """Of the first fault that never fired, the frames that it waited for."""
        self.not_asked_for = ""
        """What the Case asks for and the client, as it declares, does not do: keys set, calls that go on together."""
        self.unread = ""
        """What a broker holds that cannot be decoded: it may be any message, so nothing is missing, or too many."""

    @on(Fired)
    def fault_fired(self, event: Fired) -> None:
        self.fired.add(event.fault)

    @on(Opened)
    def connection_opened(self, event: Opened) -> None:
        self._open.add(event.conn)

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        self._open.discard(event.conn)
        self._has_left = event.by is ClosedBy.CLIENT

    @on(Stepped)
    def step_issued(self, event: Stepped) -> None:
        self._step_over(event.step)

    @on(Waited)
    def wait_ended(self, event: Waited) -> None:
        self._step_over(event.step)

    def _step_over(self, step: int) -> None:
        if self._has_left and not self._open:
            self.left_by.add(step)

    @on(Overdue)
    def operation_overdue(self, event: Overdue) -> None:
        self.overdue.append(event)

    @on(Ended)
    def attempt_ended(self, event: Ended) -> None:
        self.ended = event

    @on(Stored)
    def entry_stored(self, event: Stored) -> None:
        if event.described is None and not self.unread:
            self.unread = f"{event.undecoded}: which messages it holds is unknown"

    def unfired(self, case: Case) -> list[int]:
        waited = (one for one in enumerate(case.faults) if not one[1].optional and one[0] not in self.fired)
        return [index for index, fault in waited if not self._was_needless(fault)]

    def _was_needless(self, fault: Fault) -> bool:
        """Return whether the client itself had closed the connections that a fault was to end.

        Java does where it asks for redelivery while its consumer closes.
        """
        trigger = fault.trigger
        return isinstance(fault.action, Cut) and isinstance(trigger, AfterStep) and trigger.step in self.left_by

    def paused_client(self, case: Case) -> bool:
        """Return whether a fault paused the client: what was late in that time is no evidence, either way."""
        actions = (case.faults[index].action for index in self.fired if index < len(case.faults))
        return any(isinstance(action, Pause) and action.target.role is Role.CLIENT for action in actions)

    def look_for_causes(self, events: Sequence[Event], case: Case) -> None:
        """Find out what may have kept a precondition of the Case away."""
        self.failed_steps = failed_steps(events, case)
        self.waited_for = next((never_fired(events, case, fault) for fault in self.unfired(case)), "")

    def keeps_away(self, requirement: Requirement) -> RequirementId | None:
        """Return the requirement whose breach kept the precondition of this one away, as far as that is known."""
        return next((one for one in requirement.presupposes if one in self.broken), self.kept_away_by)

    @property
    def broken_off(self) -> bool:
        """Its time was over before its schedule was, and no operation of the client is to blame."""
        return self.ended is not None and self.ended.how is Ending.DEADLINE and not self.overdue

    @property
    def overdue_for_the_machine(self) -> bool:
        """An operation has not ended that may only be late."""
        return not all(self.load.left_time_for(overdue) for overdue in self.overdue)

    @property
    def held_up(self) -> HeldUp | None:
        """For how long the machine kept us from running, where it did for so long that what did not happen may only be
        late. Many short waits make a client late as one long wait does; and one is enough that takes as long as the
        shortest pauses of Cases."""
        whole = self.whole
        is_late = whole.total_ns >= TOLERANCES["schedule"].slack_ns // 4 or whole.worst_ns >= SHORTEST_PAUSE_NS
        return whole if is_late else None

    @property
    def whole(self) -> HeldUp:
        """Of the whole attempt, however little."""
        return self.load.held_up(0, self._end_ns)

    @property
    def off_schedule(self) -> bool:
        """Bench or agent were, and the pauses of a Case lost their meaning."""
        return not self.load.quiet(0, self._end_ns, TOLERANCES["schedule"], brokers=False)

    @property
    def _end_ns(self) -> int:
        return 0 if self.ended is None else self.ended.t_ns
