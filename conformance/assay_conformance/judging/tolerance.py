"""How much later than its bound something may be seen, and why; and whether the machine was quiet enough to judge it.

A time bound is judged only if, in its window, the bench's loop lag and the run-queue waits of the agent and of the
broker's processes were each below a quarter of the tolerance; otherwise the check says inconclusive. It also says so if
shorter waits add up to the lateness: a client that is notified, is woken, arms a timer and writes waits several times.
While a fault outside the frames lasts no time bound is judged: the wire witness sees neither how long bytes were in
flight nor when a process was kept from running.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf

from assay_conformance.model.event import Load, Overdue
from assay_conformance.model.outside import TAGS

MS = 1_000_000

BY_CHANCE = 1e-9
"""Largest probability with which a client that chooses as it should is found to deviate."""


def ms(t_ns: int) -> str:
    """Return a time for a sentence: milliseconds with one decimal."""
    return f"{t_ns / 1e6:.1f} ms"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`slack_ms` beyond the bound is still in time, because of `reason`."""

    slack_ms: int
    reason: str

    @property
    def slack_ns(self) -> int:
        return self.slack_ms * MS


TOLERANCES: dict[str, Tolerance] = {
    "ack-flush": Tolerance(100, "one timer of the client, one hop through its event loop and one through ours"),
    "ack-timeout": Tolerance(150, "the tick of the time wheel, and one hop through two event loops"),
    "at-once": Tolerance(40, "no timer is involved; whatever waits for one waits 100 ms by default"),
    "crossing": Tolerance(20, "a frame towards the client and one from it may have passed each other"),
    "notice": Tolerance(100, "a client learns of its connection's end when its event loop comes round"),
    "in-flight": Tolerance(100, "a completion may be under way from the client to the bench on a busy machine"),
    "answer": Tolerance(500, "an answer needs no timer, only the client's event loop to come round"),
    "batch-delay": Tolerance(100, "one timer of the client armed by the first message of the batch"),
    "redirect": Tolerance(500, "no timer is involved; a connection may have to be made first"),
    "nack-early": Tolerance(10, "clocks of two processes on one host, and rounding to whole milliseconds"),
    "nack-late": Tolerance(150, "the redelivery timer, and one flush of its own connection"),
    "send-timeout": Tolerance(300, "the timer looks at the queue's head only and is re-armed from it"),
    "time-out-early": Tolerance(10, "clocks of two processes on one host, and rounding to whole milliseconds"),
    "wall-clock": Tolerance(50, "two processes read the wall clock, each beside a clock of its own when it began"),
    "rate": Tolerance(
        500, "periods of a rate are distinguished by arrival at the bench; a stall would squeeze two into one"
    ),
    "keep-alive": Tolerance(2_000, "keep-alive timers are coarse: they count whole intervals"),
    "schedule": Tolerance(1_000, "the pauses of a Case and the times its faults wait for are hundreds of ms apart"),
    "reconnect": Tolerance(1_000, "backoff starts at 100 ms and doubles with up to 20 % jitter"),
}


class Timing(Enum):
    IN_TIME = "in time"
    LATE = "late"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class HeldUp:
    """For how long bench, agent or brokers were kept from running in a window: in all, and at once. Both are at least
    so much: waits of two of them may have come one after the other."""

    total_ns: int = 0
    worst_ns: int = 0

    def __str__(self) -> str:
        return f"{self.total_ns // MS} ms in all and {self.worst_ns // MS} ms at once"


class LoadRecord:
    """The load samples of one attempt, the faults outside its frames, and what they allow to be judged."""

    def __init__(self) -> None:
        self._samples: list[Load] = []
        """In order of time."""
        self._longest_ns = 0
        self._standing: dict[int, int] = {}
        self._excused_ns: float = -inf

    def add(self, sample: Load) -> None:
        insort(self._samples, sample, key=_t_ns)
        self._longest_ns = max(self._longest_ns, sample.window_ns)

    def fired(self, fault: int, action: str, now_ns: int) -> None:
        """Note the receipt of a fault, written at a second look: it acted before, and excuses what was due then."""
        if action in TAGS:
            self._standing[fault] = now_ns
            self._excused_ns = inf

    def healed(self, fault: int, now_ns: int) -> None:
        """Note that a fault has ended: delayed bytes arrive, and connections are made again. That may take as long
        again as the fault lasted, since TCP doubles its waits.
        """
        since_ns = self._standing.pop(fault, None)
        if since_ns is not None and not self._standing:
            self._excused_ns = now_ns + max(now_ns - since_ns, TOLERANCES["reconnect"].slack_ns)

    def quiet(self, start_ns: int, end_ns: int, tolerance: Tolerance, *, brokers: bool = True) -> bool:
        """Return whether no sample that overlaps the window shows a quarter of the tolerance or more.

        Without `brokers`, whether bench and agent kept to their schedule.
        """
        limit_ns = tolerance.slack_ns // 4
        return all(_kept_ns(sample, brokers=brokers) < limit_ns for sample in self._overlapping(start_ns, end_ns))

    def held_up(self, start_ns: int, end_ns: int) -> HeldUp:
        """Return the sum of the samples that overlap the window.

        A wait is reported when it has ended, however many windows it lasted, or grows from one to the next: each sample
        counts towards the sum with no more than its window.
        """
        samples = list(self._overlapping(start_ns, end_ns))
        worst_ns = max(map(_kept_ns, samples), default=0)
        return HeldUp(max(worst_ns, _in_all_ns(samples)), worst_ns)

    def left_time_for(self, overdue: Overdue) -> bool:
        """Return whether the client had most of an operation's deadline: no wait took a quarter of it."""
        deadline = Tolerance(overdue.deadline_ms, "the whole deadline was the client's")
        return self.quiet(overdue.t_ns - overdue.deadline_ms * MS, overdue.t_ns, deadline)

    def took_much_of(self, overdue: Overdue) -> bool:
        """Return whether waits took a quarter of an operation's deadline in all.

        A thread that was never idle waited as well: for a client that is always busy this says nothing.
        """
        deadline_ns = overdue.deadline_ms * MS
        return self.held_up(overdue.t_ns - deadline_ns, overdue.t_ns).total_ns >= deadline_ns // 4

    def alone(self, start_ns: int, end_ns: int) -> bool:
        """Return whether no sample that overlaps the window shows other attempts on the same broker."""
        return not any(sample.others for sample in self._overlapping(start_ns, end_ns))

    def fair(self, start_ns: int, end_ns: int, tolerance: Tolerance) -> bool:
        """Return whether the machine was quiet, and what was late had its time without a fault in the way."""
        excused = start_ns <= self._excused_ns and end_ns <= self._excused_ns + tolerance.slack_ns
        return not excused and self.quiet(start_ns, end_ns, tolerance)

    def timing(self, start_ns: int, due_ns: int, seen_ns: int, tolerance: Tolerance) -> Timing:
        """Judge something due at `due_ns` and seen at `seen_ns`, in the window that began at `start_ns`."""
        if seen_ns <= due_ns + tolerance.slack_ns:
            return Timing.IN_TIME
        late_ns = seen_ns - due_ns - tolerance.slack_ns
        if not self.fair(start_ns, seen_ns, tolerance):
            return Timing.UNDECIDED
        # In between it is only waited for, which no wait of the machine makes longer.
        begun_ns = min(start_ns + tolerance.slack_ns, due_ns)
        samples = {
            id(one): one for window in ((start_ns, begun_ns), (due_ns, seen_ns)) for one in self._overlapping(*window)
        }
        return Timing.LATE if _in_all_ns(samples.values()) < late_ns else Timing.UNDECIDED

    def _overlapping(self, start_ns: int, end_ns: int) -> Iterator[Load]:
        """Yield the samples whose windows overlap that one."""
        for place in range(bisect_left(self._samples, start_ns, key=_t_ns), len(self._samples)):
            sample = self._samples[place]
            if sample.t_ns - self._longest_ns > end_ns:
                return
            if sample.t_ns - sample.window_ns <= end_ns:
                yield sample


def _kept_ns(sample: Load, *, brokers: bool = True) -> int:
    return max(sample.loop_lag_ns, sample.agent_wait_ns, sample.broker_wait_ns if brokers else 0)


def _in_all_ns(samples: Iterable[Load]) -> int:
    """Return the waits of all samples, of each no more than its window."""
    return sum(min(_kept_ns(sample), sample.window_ns) for sample in samples)


def _t_ns(sample: Load) -> int:
    return sample.t_ns
