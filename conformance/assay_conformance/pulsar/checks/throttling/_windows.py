"""Dispatch rates, judged over windows of whole periods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.throttling._rates import check_measured
from assay_conformance.pulsar.timeline import Exercised, Limiter, Says, Timeline, breach, ms
from assay_conformance.pulsar.timeline.limiters import READ_BATCH_ENTRIES


def beyond_the_first_tokens(limiter: Limiter, rate: int, charges: Sequence[int]) -> Iterator[Exercised]:
    """Yield what leaves after the first tokens are used up."""
    total = 0
    for frame, charge in zip(limiter.frames, charges, strict=True):
        total += charge
        if total > rate:
            yield Exercised(frame)


def judge_kept(timeline: Timeline, limiter: Limiter, unit: str = "messages") -> Says:
    """Judge whether a rate in messages or bytes, which may be one of both, is used up and not exceeded."""
    yield from beyond_the_first_tokens(limiter, *_charged(limiter, unit))
    yield from judge_not_exceeded(timeline, limiter, unit)


def judge_not_exceeded(timeline: Timeline, limiter: Limiter, unit: str = "messages") -> Says:
    """Judge whether in any k periods at most (k + 1) times the rate is dispatched.

    In addition there is what one read may exceed its tokens by.
    """
    (rate, charges), frames = _charged(limiter, unit), limiter.frames
    # A read takes as many entries as there are tokens for messages.
    messages = min(READ_BATCH_ENTRIES, rate) * max(charges)
    one_read = messages if unit == "messages" else _beyond(rate, charges, limiter.smallest)
    overdraft = limiter.concurrent_reads * max(0, one_read - 1)
    periods = -(-(frames[-1].t_ns - frames[0].t_ns + 1) // limiter.period_ns)
    for k in range(1, periods + 1):
        most, first, last = _busiest(frames, charges, k * limiter.period_ns)
        if most > (k + 1) * rate + overdraft:
            check_measured(timeline, first, last)
            yield breach(
                "too-fast",
                f"{limiter.what} has a rate of {rate} {unit} per {limiter.rate.period_s} s; expected at most "
                f"{(k + 1) * rate + overdraft} in {k} period(s); from {ms(first.t_ns)} to {ms(last.t_ns)} {most} were "
                "sent",
                *(first, last),
            )
            return


def _charged(limiter: Limiter, unit: str) -> tuple[int, list[int]]:
    """Return the rate, and what each dispatch was charged."""
    is_messages = unit == "messages"
    return (limiter.rate.messages, limiter.messages) if is_messages else (limiter.rate.bytes, limiter.sizes)


def _beyond(rate: int, sizes: Sequence[int], smallest: int) -> int:
    """Return by how many bytes a read may exceed its tokens.

    The broker divides them by an average entry size, which is no less than the smallest entry, and may then read the
    largest ones. Where all have one size, that is one entry.
    """
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


class Read(NamedTuple):
    """What left within a tenth of a period, from the frame with which it `began` on."""

    began: Frame
    last: Frame
    entries: int
    messages: int


def reads(limiter: Limiter) -> Iterator[Read]:
    """Yield the reads of a limiter, in order: what is sent within a tenth of a period counts as one."""
    began = last = limiter.frames[0]
    entries = messages = 0
    for frame, count in zip(limiter.frames, limiter.messages, strict=True):
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield Read(began, last, entries, messages)
            began, entries, messages = frame, 0, 0
        last, entries, messages = frame, entries + 1, messages + count
    yield Read(began, last, entries, messages)
