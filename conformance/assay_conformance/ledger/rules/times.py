"""Delayed messages, rates, and the effects of faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import US_PER_S, Counted, Window
from assay_conformance.ledger.lives import Life
from assay_conformance.ledger.pace import LEAST_PERIODS, RATE_ERROR, excess
from assay_conformance.ledger.rows import Epoch
from assay_conformance.ledger.rules.base import Rule, at, took
from assay_conformance.ledger.tables import NONE, Again
from assay_conformance.model.verdict import Verdict

QUEUED_MESSAGES = 1_000
"""What a consumer may have had in its queue, and its application then receives at once."""

READ_AHEAD_MESSAGES = 2_600
"""What a broker may have read of a producer before it stops: 256 KiB of the smallest frames."""


class NotBeforeItsTime(Rule):
    """A message with a delivery time is not received before it, on subscriptions that honour it."""

    requirement = clauses.DUE

    def look(self, life: Life) -> None:
        for sub, copies in life.given.items():
            early = next(
                (row for row in copies if row.again == Again.FIRST and row.wait is not None and row.wait < 0), None
            )
            if early is None or not self.evidence.scopes[sub, life.stream].shared:
                continue
            error_us = self.evidence.clock_error(stream=life.stream, consumers=(early.consumer,))
            if error_us is None:
                self.undecided("how far the clocks of producer and consumer differ is unknown")
            elif (early.wait or 0) < -self.info.due_early_us - error_us:
                self.breach(
                    "early",
                    f"{self.subscription(sub)} received {self.message(life)} at {at(early.t)}; expected it no earlier "
                    f"than its delivery time, {took(-(early.wait or 0))} later",
                    life,
                    sub,
                    shown=True,
                )


class _RateRule(Rule):
    counted: tuple[Counted, ...]

    def rates(self) -> Mapping[int, int]:
        """Return by topic or subscription the messages a second."""
        raise NotImplementedError

    def ahead(self, number: int) -> int:
        """Return how many messages may come at once beyond the rate."""
        raise NotImplementedError

    def exercised(self) -> int:
        return sum(len(units) for number, units in self._units().items() if number in self.rates())

    def promised(self) -> bool:
        return bool(self.rates())

    def finish(self) -> None:
        units = self._units()
        unit_us = self.evidence.sums.unit_us
        for number, rate in self.rates().items():
            counts = units.get(number, {})
            if not counts or max(counts) - min(counts) + 1 < LEAST_PERIODS:
                continue
            times = sorted(counts)
            in_one_unit = rate * RATE_ERROR * unit_us / US_PER_S
            ahead = in_one_unit + self.ahead(number)
            found = excess(times, [counts[time] for time in times], rate, US_PER_S / unit_us, ahead)
            if found is not None:
                self.breach(
                    "too-fast",
                    f"{self.name(number)} has a rate of {rate} messages a second; expected at most {found.allowed} "
                    f"beyond that; from {at(times[found.first] * unit_us)} to "
                    f"{at((times[found.last] + 1) * unit_us)} {found.more} more came",
                    sub=self.sub(number),
                    about=number,
                )

    def name(self, number: int) -> str:
        return self.subscription(number)

    def sub(self, number: int) -> int:
        return number

    def _units(self) -> Mapping[int, dict[int, int]]:
        units: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for second in self.evidence.sums.series:
            if second.what in self.counted:
                units[second.of][second.second] += second.n
        return units


class DispatchRateHolds(_RateRule):
    """In any interval a subscription gets what its rate allows, plus what its consumers had queued."""

    requirement = clauses.DISPATCH
    counted = (Counted.FIRST, Counted.AGAIN)

    def rates(self) -> Mapping[int, int]:
        return {one.sub: one.dispatch_rate for one in self.small.subscriptions.values() if one.dispatch_rate > 0}

    def ahead(self, number: int) -> int:
        return self.rates()[number] + QUEUED_MESSAGES * max(1, len(self.evidence.consumers_of(number)))


class PublishRateHolds(_RateRule):
    """In any interval as many sends succeed as the rate of the topic allows, plus what was read ahead."""

    requirement = clauses.PUBLISH
    counted = (Counted.STORED,)

    def rates(self) -> Mapping[int, int]:
        return {one.topic: one.publish_rate for one in self.small.topics.values() if one.publish_rate > 0}

    def ahead(self, number: int) -> int:
        return READ_AHEAD_MESSAGES * max(1, sum(one.topic == number for one in self.small.streams.values()))

    def name(self, number: int) -> str:
        return f"topic {self.small.topics[number].name}"

    def sub(self, _number: int) -> int:
        return NONE


class FlowsAfterHeal(Rule):
    """After a fault, messages are received again: while a topic stores them, every whole subscription gets some within
    the time that makes a stall. The next fault ends the time that is judged."""

    requirement = clauses.FLOWS

    def promised(self) -> bool:
        return any(epoch.t_to is not None for epoch in self.small.epochs.values())

    def exercised(self) -> int:
        return sum(self._stored_soon(sub, epoch) > 0 for sub in self.small.subscriptions for epoch in self._healed(sub))

    def finish(self) -> None:
        for sub in self.small.subscriptions:
            for epoch in self._healed(sub) if self.evidence.watched(sub) else ():
                from_us = epoch.t_to or 0
                stall_us = self.evidence.stall_us(epoch)
                until_us = from_us + stall_us
                stored = self._stored_soon(sub, epoch)
                if (
                    stored
                    and self.evidence.served_until(sub, from_us, until_us)
                    and not self._got(sub, from_us, until_us + 1)
                ):
                    if self.evidence.rows_lost(sub, from_us):
                        continue
                    self.breach(
                        "stalled",
                        f"{epoch.action} of {epoch.target} was over at {at(from_us)}, and {stored} messages were "
                        f"stored in the {took(stall_us)} after that; expected {self.subscription(sub)} to receive "
                        "some; it received none",
                        sub=sub,
                        about=epoch.epoch,
                    )

    def _healed(self, sub: int) -> list[Epoch]:
        """Return the faults that were over for the time that makes a stall before another began."""
        times = self.evidence.epoch_times(sub)
        return [
            epoch
            for epoch in self.evidence.outages_of(sub)
            if epoch.t_to is not None
            and (until_us := epoch.t_to + self.evidence.stall_us(epoch)) <= self.evidence.end_us
            and times.latest_end(until_us) <= epoch.t_to
        ]

    def _stored_soon(self, sub: int, epoch: Epoch) -> int:
        """Return how many messages were stored in the first half of the time: later ones may still be on their way."""
        from_us = epoch.t_to or 0
        until_us = from_us + self.info.stall_us // 2
        return sum(
            self.evidence.counted(Counted.STORED, topic, from_us, until_us) for topic in self.evidence.topics_of(sub)
        )

    def _got(self, sub: int, from_us: int, until_us: int) -> int:
        """Return how many messages came in all units of time that touch the window."""
        unit_us = self.evidence.sums.unit_us
        return sum(
            self.evidence.counted(what, sub, from_us - unit_us, until_us + unit_us)
            for what in (Counted.FIRST, Counted.AGAIN)
        )


class FaultWindows(Rule):
    """Statistics of messages that were sent during a fault. Not all whose sends succeed then have to arrive in time."""

    requirement = clauses.WINDOWS
    holds = Verdict.INFO

    def exercised(self) -> int:
        return sum(window.messages > 0 for window in self.evidence.sums.windows)

    def finish(self) -> None:
        for window in self.evidence.sums.windows:
            if window.lost:
                self.breach("lost", self._line(window))
        lines = [self._line(window) for window in self.evidence.sums.windows if window.messages]
        self.remark = "; ".join(lines[:5]) + (f"; and {len(lines) - 5} more" if len(lines) > 5 else "")

    def _line(self, window: Window) -> str:
        epoch = self.small.epochs[window.epoch]
        latency = "" if window.p50_us < 0 else f", half within {took(window.p50_us)}, 99 % within {took(window.p99_us)}"
        return (
            f"{epoch.action} of {epoch.target} at {at(epoch.t_from)}: {window.messages} messages, {window.lost} lost, "
            f"{window.again} again{latency}"
        )
