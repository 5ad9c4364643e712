"""Rates of dispatch, judged over windows of whole periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import pairwise

from assay_conformance.checks.base import ms
from assay_conformance.checks.throttling.dispatching import READ_BATCH_ENTRIES, Dispatches
from assay_conformance.checks.throttling.supply import FedCheck
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId


class DispatchWindows(FedCheck):
    """Of a limit that counts something: any k periods see at most (k + 1) times the rate, and what a read overdraws."""

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        """What is judged here: its name, the rate, and what each dispatch was charged."""
        raise NotImplementedError

    def exercised_by(self, limiter: Dispatches, rate: int, charges: Sequence[int]) -> Iterator[Event]:
        """What leaves after the first tokens are used up."""
        total = 0
        for frame, charge in zip(limiter.frames, charges, strict=True):
            total += charge
            if total > rate:
                yield frame

    def judge(self, limiter: Dispatches) -> None:
        for unit, rate, charges in self.counted(limiter):
            for event in self.exercised_by(limiter, rate, charges):
                self.exercise(event)
            self._judge(limiter, unit, rate, charges)

    def _judge(self, limiter: Dispatches, unit: str, rate: int, charges: Sequence[int]) -> None:
        frames = limiter.frames
        # A read takes as many entries as there are tokens in messages.
        messages = min(READ_BATCH_ENTRIES, rate) * max(charges)
        one_read = messages if unit == "messages" else _beyond(rate, charges, self.smallest(limiter))
        overdraft = limiter.readers * max(0, one_read - 1)
        periods = -(-(frames[-1].t_ns - frames[0].t_ns + 1) // limiter.period_ns)
        for k in range(1, periods + 1):
            most, first, last = _busiest(frames, charges, k * limiter.period_ns)
            if most > (k + 1) * rate + overdraft:
                self.found(
                    "too-fast",
                    f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s; {most} left from "
                    f"{ms(first.t_ns)} to {ms(last.t_ns)}, where {(k + 1) * rate + overdraft} are the most in {k} "
                    "period(s)",
                    first,
                    last,
                )
                return


class MessageWindows(DispatchWindows):
    """Of rates in messages alone, from both sides."""

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.rate.bytes <= 0:
            yield "messages", limiter.rate.messages, limiter.messages

    def judge(self, limiter: Dispatches) -> None:
        super().judge(limiter)
        if limiter.rate.bytes <= 0 and self.has_floor(limiter):
            self.judge_from_below(limiter)

    def has_floor(self, _limiter: Dispatches) -> bool:
        """Whether it is this check that judges from below."""
        return True


class DispatchRateHolds(MessageWindows):
    """Rates of one level, with a period of a second. What partitions, and batches that count as one, are given at least
    is for the checks of these."""

    requirement = RequirementId("throttling.dispatch-rate-holds")

    def has_floor(self, limiter: Dispatches) -> bool:
        return not self.settings.rate_counts_entries and not limiter.is_partition


class LevelsHoldTogether(DispatchWindows):
    """Where several levels have rates each holds as if it were alone; from below only the tightest would."""

    requirement = RequirementId("throttling.all-levels-hold")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.level.shared

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0:
            yield "messages", limiter.rate.messages, limiter.messages


class NearestLevelHolds(MessageWindows):
    """Rates that overrule another of their kind: too fast where the other one is looser, starved where it is tighter.

    What leaves after the first tokens shows that a rate is not tighter, what does not that it is not looser.
    """

    requirement = RequirementId("throttling.nearest-policy-wins")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.level.overrules and not limiter.level.shared


class PeriodHolds(MessageWindows):
    """Periods of more than a second."""

    requirement = RequirementId("throttling.rate-period-respected")

    def judges(self, limiter: Dispatches) -> bool:
        return limiter.rate.period_s > 1 and not limiter.level.shared and not limiter.level.overrules


class ReplayOvershoots(DispatchWindows):
    """Where what comes again and what is new left together: one read may be beyond the rate, and is repaid."""

    requirement = RequirementId("throttling.replay-overshoots-once")

    def judges(self, limiter: Dispatches) -> bool:
        return super().judges(limiter) and 0 < len(limiter.again) < len(limiter.frames)

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0:
            yield "messages", limiter.rate.messages, limiter.messages

    def exercised_by(self, limiter: Dispatches, _rate: int, _charges: Sequence[int]) -> Iterator[Event]:
        """What is new and leaves within a period of something that comes again."""
        again = {frame.seq for frame in limiter.again}
        for earlier, frame in pairwise(limiter.frames):
            mixed = (earlier.seq in again) != (frame.seq in again)
            if mixed and frame.t_ns - earlier.t_ns < limiter.period_ns:
                yield frame


class ByteRateHolds(DispatchWindows):
    """Rates in bytes alone, from both sides; the bytes are those of entries as they are stored."""

    requirement = RequirementId("throttling.dispatch-byte-rate-holds")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.bytes > 0 and limiter.rate.messages <= 0:
            yield "bytes", limiter.rate.bytes, limiter.sizes

    def judge(self, limiter: Dispatches) -> None:
        super().judge(limiter)
        if limiter.rate.messages <= 0:
            self.judge_from_below(limiter, "bytes")


class RatesHoldTogether(DispatchWindows):
    """Rates in messages and in bytes: each holds as if it were alone."""

    requirement = RequirementId("throttling.messages-and-bytes-together")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.rate.bytes > 0:
            yield "messages", limiter.rate.messages, limiter.messages
            yield "bytes", limiter.rate.bytes, limiter.sizes


class RedeliveredCountAgain(DispatchWindows):
    """Judged where something was dispatched a second time."""

    requirement = RequirementId("throttling.redelivery-is-charged")

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.again:
            yield "messages", limiter.rate.messages, limiter.messages

    def exercised_by(self, limiter: Dispatches, _rate: int, _charges: Sequence[int]) -> Iterator[Event]:
        yield from limiter.again


def _beyond(rate: int, sizes: Sequence[int], smallest: int) -> int:
    """By how many bytes one read may be beyond its tokens, which an average turns into entries: it is no less than the
    smallest entry, and the largest ones may be what is read. Where all are alike, that is one entry."""
    entries = min(READ_BATCH_ENTRIES, -(-rate // smallest))
    return max(2 * max(sizes), sum(nlargest(entries, sizes)) - (entries - 1) * smallest)


def _busiest(frames: Sequence[Frame], messages: Sequence[int], window_ns: int) -> tuple[int, Frame, Frame]:
    """The most messages in any window of this length, and its first and last frame."""
    most, inside, start = 0, 0, 0
    first = last = frames[0]
    for place, frame in enumerate(frames):
        inside += messages[place]
        while frame.t_ns - frames[start].t_ns >= window_ns:
            inside -= messages[start]
            start += 1
        if inside > most:
            most, first, last = inside, frames[start], frame
    return most, first, last
