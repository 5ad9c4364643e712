"""Dispatch rates, judged over windows of whole periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest

from assay_conformance.checks.base import ms
from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.throttling._dispatches import READ_BATCH_ENTRIES, Dispatches
from assay_conformance.pulsar.checks.throttling._supply import SupplyCheck


class DispatchWindows(SupplyCheck):
    """In any k periods at most (k + 1) times the rate is dispatched, plus what one read may exceed its tokens by."""

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        """Return what is judged here: the unit, the rate, and what each dispatch was charged."""
        raise NotImplementedError

    def exercised_by(self, limiter: Dispatches, rate: int, charges: Sequence[int]) -> Iterator[Event]:
        """Yield what leaves after the first tokens are used up."""
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
        # A read takes as many entries as there are tokens for messages.
        messages = min(READ_BATCH_ENTRIES, rate) * max(charges)
        one_read = messages if unit == "messages" else _beyond(rate, charges, self.smallest(limiter))
        overdraft = limiter.concurrent_reads * max(0, one_read - 1)
        periods = -(-(frames[-1].t_ns - frames[0].t_ns + 1) // limiter.period_ns)
        for k in range(1, periods + 1):
            most, first, last = _busiest(frames, charges, k * limiter.period_ns)
            if most > (k + 1) * rate + overdraft:
                self.report(
                    "too-fast",
                    f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s; expected at most "
                    f"{(k + 1) * rate + overdraft} in {k} period(s); from {ms(first.t_ns)} to {ms(last.t_ns)} {most} "
                    "were sent",
                    first,
                    last,
                )
                return


class MessageWindows(DispatchWindows):
    """Rates in messages only, with an upper and a lower bound."""

    def counted(self, limiter: Dispatches) -> Iterable[tuple[str, int, Sequence[int]]]:
        if limiter.rate.messages > 0 and limiter.rate.bytes <= 0:
            yield "messages", limiter.rate.messages, limiter.messages

    def judge(self, limiter: Dispatches) -> None:
        super().judge(limiter)
        if limiter.rate.bytes <= 0 and self.judges_lower_bound(limiter):
            self.judge_from_below(limiter)

    def judges_lower_bound(self, _limiter: Dispatches) -> bool:
        """Whether this check judges the lower bound."""
        return True


def _beyond(rate: int, sizes: Sequence[int], smallest: int) -> int:
    """Return by how many bytes a read may exceed its tokens. The broker divides them by an average entry size, which is
    no less than the smallest entry, and may then read the largest ones. Where all have one size, that is one entry."""
    entries = min(READ_BATCH_ENTRIES, -(-rate // smallest))
    return max(2 * max(sizes), sum(nlargest(entries, sizes)) - (entries - 1) * smallest)


def _busiest(frames: Sequence[Frame], messages: Sequence[int], window_ns: int) -> tuple[int, Frame, Frame]:
    """Return the most messages in any window of this length, and its first and last frame."""
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
