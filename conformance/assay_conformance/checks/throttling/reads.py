"""Single reads: how large they may be, and how one that overdrew is repaid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.flow.permits import charged
from assay_conformance.checks.throttling.dispatching import (
    DispatchCheck,
    Dispatches,
)
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId


class ReadsWithinQuota(DispatchCheck):
    """A read takes no more entries than there are tokens. Two reads side by side in a tenth of a period, one at the end
    of a period and one in the next, have the tokens of both."""

    requirement = RequirementId("throttling.reads-within-quota")

    def judge(self, limiter: Dispatches) -> None:
        rate = limiter.rate.messages
        if rate <= 0 or sum(limiter.messages) <= rate:
            return
        for began, last, entries in _bursts(limiter):
            self.exercise(began)
            most = 2 * rate * limiter.readers
            if entries > most:
                self.found(
                    "read-too-large",
                    f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {entries} entries "
                    f"left from {ms(began.t_ns)} to {ms(last.t_ns)}, where reads can have taken {most} at most",
                    began,
                    last,
                )
                return


class RepaysOvershoot(DispatchCheck):
    """After a read that overdrew, nothing leaves until the periods since then have paid for it.

    A read is what leaves within a tenth of a period. When one begins, the tokens there were at some earlier read (R at
    most) and those that have flowed in by then must exceed what has left since that read. A read may have had its
    tokens as soon as the one before it had left: a broker takes its time; and what had flowed in before that, for
    almost a period, may have been added after it (AsyncTokenBucket adds all at once, once a period at most).
    Several subscriptions on one limiter may read side by side and are not judged.
    """

    requirement = RequirementId("throttling.repays-overshoot")

    def judge(self, limiter: Dispatches) -> None:
        if len(limiter.subscriptions) > 1 or limiter.redelivered or limiter.rate.messages <= 0:
            return
        rate = limiter.rate.messages
        reads = list(_reads(limiter))
        for place, (began, _) in enumerate(reads):
            since = 0
            if place and reads[place - 1][1] > rate:
                self.exercise(began)
            for number, (earlier, count) in reversed(list(enumerate(reads[:place]))):
                since += count
                granted_ns = reads[number - 1][0].t_ns if number else limiter.began_ns
                flows_ns = began.t_ns - granted_ns + limiter.period_ns + limiter.period_ns // 8
                allowed = rate + rate * flows_ns // limiter.period_ns
                if since >= allowed:
                    self.found(
                        "not-repaid",
                        f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {since} "
                        "left from "
                        f"{ms(earlier.t_ns)} on, and the next one already at {ms(began.t_ns)}, when no more than "
                        f"{allowed} can have been allowed",
                        earlier,
                        began,
                    )
                    return


@dataclass(slots=True)
class _Reader:
    """`entries` that a read begun by now may still bring; `fewest` messages in an entry so far, 0 = none known."""

    permits: int = 0
    entries: int = 0
    fewest: int = 0
    granted: Frame | None = None


class PreciseReads(Check):
    """With precise flow control a read takes no more entries than its permits hold, as far as the broker has seen what
    this consumer's entries hold: counted here with the smallest it was sent."""

    requirement = RequirementId("throttling.precise-dispatcher-flow-control")

    def start(self) -> None:
        self._is_precise = self.view.case.topology.settings.precise_flow_control
        self._readers: dict[tuple[int, int], _Reader] = {}

    def concerned(self) -> bool:
        return self._is_precise

    @on(Frame, "SUBSCRIBE")
    def subscribed(self, event: Frame) -> None:
        if self._is_precise and event.at_broker and event.consumer_id is not None:
            self._readers[event.conn, event.consumer_id] = _Reader()

    @on(Frame, "FLOW")
    def flow(self, event: Frame) -> None:
        reader = self._readers.get((event.conn, event.consumer_id or 0))
        if reader is not None and event.at_broker:
            reader.permits += event.permits or 0
            reader.granted = event

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        reader = self._readers.get((event.conn, event.consumer_id or 0))
        if reader is None or not event.from_sender:
            return
        reader.entries = max(reader.entries, -(-max(reader.permits, 0) // max(1, reader.fewest)))
        if reader.entries <= 0:
            self.breach(
                "read-too-large",
                f"consumer id {event.consumer_id} on connection {event.conn} was sent "
                f"{event.ids[0].name} at {ms(event.t_ns)}; its entries hold {reader.fewest} "
                f"messages or more, and with {reader.permits} permits left no read can have taken this one as well",
                *([reader.granted] if reader.granted else []),
                event,
            )
        elif reader.fewest > 1:
            self.exercise(event)
        cost = charged(event)
        reader.entries -= 1
        reader.permits -= cost
        reader.fewest = min(reader.fewest or cost, cost)


def _reads(limiter: Dispatches) -> Iterator[tuple[Frame, int]]:
    """Reads as far as they can be told apart: what left within a tenth of a period, and how many messages it was."""
    began, count = limiter.frames[0], 0
    for frame, messages in zip(limiter.frames, limiter.messages, strict=True):
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, count
            began, count = frame, 0
        count += messages
    yield began, count


def _bursts(limiter: Dispatches) -> Iterator[tuple[Frame, Frame, int]]:
    """What left within a tenth of a period: its first and last frame, and how many entries it was."""
    began = last = limiter.frames[0]
    count = 0
    for frame in limiter.frames:
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, last, count
            began, count = frame, 0
        last = frame
        count += 1
    yield began, last, count
