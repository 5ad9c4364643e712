"""The patterns that clauses follow, and what all of them need: tolerance, the load of the machine, and the end.

response     what was due comes within its bound           `Bounds.response`, `Bounds.is_overdue`
absence      something does not come soon after another    `Bounds.ended_soon_after`
precedence   one event comes only after another           `precedence`
agreement    two accounts of the same thing are the same   `agreement`

A check names a tolerance of `TOLERANCES` and never computes one. What is still pending when the Case, or the connection
or producer in question, ends is due no later than that: `Bounds.until`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay_conformance.judging.certainty import Breach, Exercised, Judged, TooBusyError, UnknownError
from assay_conformance.judging.tolerance import TOLERANCES, LoadRecord, Timing, Tolerance
from assay_conformance.model.event import Event


@dataclass(frozen=True, slots=True)
class Bounds:
    """Time bounds of one attempt: the load of its machine, and when it ended.

    `unread`: why something late may only have been read late, empty otherwise; if it is set, nothing counts as late.
    """

    load: LoadRecord
    end_ns: int
    unread: str = ""

    def until(self, *ends: Event | int | None) -> int:
        """Return the first of these events or times (ns), or the end of the Case; those that are None never came."""
        times_ns = (end if isinstance(end, int) else end.t_ns for end in ends if end is not None)
        return min(self.end_ns, *times_ns, self.end_ns)

    def is_past(self, within: str, due_ns: int, seen_ns: int) -> bool:
        """Return whether it was seen, or still missing, after its tolerance, whatever the cause."""
        return seen_ns > due_ns + TOLERANCES[within].slack_ns

    def is_overdue(
        self, within: str, since_ns: int, seen_ns: int, *, due_ns: int | None = None, what: str = "an answer"
    ) -> bool:
        """Return whether what was due at `due_ns`, or else at `since_ns`, was too late at `seen_ns`.

        At that time it was seen, or was still missing. Raises `TooBusyError` where the machine was too busy from
        `since_ns` to `seen_ns`, and `UnknownError` where it may only have been read late; `what` is for the sentence.
        """
        timing = self.load.timing(since_ns, since_ns if due_ns is None else due_ns, seen_ns, TOLERANCES[within])
        if timing is Timing.UNDECIDED:
            raise TooBusyError(f"the machine was too busy to say whether {what} only came late")
        if timing is Timing.LATE:
            self.check_read()
        return timing is Timing.LATE

    def is_missing(self, within: str, since_ns: int, seen_ns: int, *, what: str = "an answer") -> bool:
        """Return `is_overdue` for what was due at once, at `since_ns`; later load of the machine does not matter."""
        return self.is_overdue(within, since_ns, min(seen_ns, since_ns + 2 * TOLERANCES[within].slack_ns), what=what)

    def is_before(self, within: str, due_ns: int, seen_ns: int) -> bool:
        """Return whether it was seen before it was due, by more than is tolerated."""
        return seen_ns < due_ns - TOLERANCES[within].slack_ns

    def check_fair(self, within: str, since_ns: int, until_ns: int, *, what: str) -> None:
        """Raise `TooBusyError` where the machine was too busy in that window to judge a bound of this tolerance, and
        `UnknownError` as `is_overdue` does."""
        self.check_read()
        if not self.load.fair(since_ns, until_ns, TOLERANCES[within]):
            raise TooBusyError(f"the machine was too busy to say {what}")

    def check_quiet(self, within: str | Tolerance, since_ns: int, until_ns: int, *, what: str) -> None:
        """Raise `TooBusyError` where the machine was too busy, whether or not a fault stood in the way."""
        tolerance = within if isinstance(within, Tolerance) else TOLERANCES[within]
        if not self.load.quiet(since_ns, until_ns, tolerance):
            raise TooBusyError(f"the machine was too busy to say {what}")

    def own_ns(self, since_ns: int, until_ns: int) -> int:
        """Return how much of a wait was certainly the client's: the machine may have added the rest."""
        return max(0, until_ns - since_ns - self.load.held_up(since_ns, until_ns).total_ns)

    def check_alone(self, since_ns: int, until_ns: int) -> None:
        """Raise `TooBusyError` where a broker served other Cases as well in that window."""
        if not self.load.alone(since_ns, until_ns):
            raise TooBusyError("the broker served other Cases, too, and may have charged this one for their messages")

    def is_surely_overdue(self, within: str, since_ns: int, seen_ns: int) -> bool:
        """Return whether it was surely overdue; False where the machine was too busy to say."""
        return not self.unread and self.load.timing(since_ns, since_ns, seen_ns, TOLERANCES[within]) is Timing.LATE

    def check_read(self) -> None:
        """Raise `UnknownError` where what comes late may only have been read late."""
        if self.unread:
            raise UnknownError(self.unread)

    def response(
        self, within: str, trigger: Event, came: Event, late: Breach, *, what: str = "an answer"
    ) -> Iterator[Judged]:
        """Yield an exercise where `came` answers `trigger` in time, and otherwise the breach `late`."""
        yield late if self.is_overdue(within, trigger.t_ns, came.t_ns, what=what) else Exercised(came)

    def ended_soon_after(self, event: Event, end: Event | None, within: str = "answer") -> bool:
        """Return whether `end` came before the event, or no later than what the event leads to would."""
        return end is not None and end.t_ns - event.t_ns <= TOLERANCES[within].slack_ns


def precedence(then: Event, first: Event | None, otherwise: Breach) -> Iterator[Judged]:
    """Yield an exercise where `then` comes behind `first`, and else the breach; `first` is None where it never came."""
    yield Exercised(then) if first is not None and first.seq < then.seq else otherwise


def agreement(
    event: Event, pairs: Iterable[Sequence[str]], otherwise: Callable[[str, str, str], Breach]
) -> Iterator[Judged]:
    """Yield an exercise, and a breach for the first of `pairs` (code, expected, came) that differs."""
    yield Exercised(event)
    for code, expected, came in pairs:
        if expected != came:
            yield otherwise(code, expected, came)
            return
