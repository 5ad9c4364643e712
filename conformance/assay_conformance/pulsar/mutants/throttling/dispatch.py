"""Brokers that do not hold what they dispatch to its rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.host import Host
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.throttle import DispatchLimiter, PeriodBucket
from assay_conformance.broker.transient import Passing
from assay_conformance.model.policy import Rate


class DispatchIgnoresRate(Backlog):
    """Dispatch rates are not looked at."""

    breaks = "throttling.dispatch-rate-holds"
    stands_for = "the rate limiter of a topic not asked on the path of dispatch"

    def _is_throttled(self, *, again: bool) -> bool:
        return False


class DispatchForgivesOvershoot(PeriodBucket):
    """What was dispatched beyond the rate is not taken from the next periods."""

    breaks = "throttling.repays-overshoot"
    stands_for = "a token bucket whose balance is cut off at zero"

    def _kept(self) -> int:
        return max(super()._kept(), 0)


class DispatchIgnoresBytes(DispatchLimiter):
    """Dispatch rates in bytes are not looked at."""

    breaks = "throttling.dispatch-byte-rate-holds"
    stands_for = "only dispatchThrottlingRateInMsg read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, bytes=0), published)


class DispatchHalvesBytes(DispatchLimiter):
    """Of a dispatch rate in bytes half is given."""

    breaks = "throttling.dispatch-byte-rate-holds"
    stands_for = "bytes counted twice, before and after the read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, bytes=-(-rate.bytes // 2)), published)


class DispatchLimitsAreAlternatives(DispatchLimiter):
    """Of a rate in messages and in bytes only both together stop dispatch."""

    breaks = "throttling.messages-and-bytes-together"
    stands_for = "two limits joined by or where they hold together"

    def _fewest(self, wanted: int, allowed: Sequence[int]) -> int:
        several = len(allowed) > 1
        return min(wanted, max(0, *allowed)) if several else super()._fewest(wanted, allowed)


class RedeliveryNotCharged(Backlog):
    """What is dispatched again waits for no dispatch rate, and is not charged to any."""

    breaks = "throttling.redelivery-is-charged"
    stands_for = "the path of redelivery built beside the rate limiter"

    def _is_throttled(self, *, again: bool) -> bool:
        return not again and super()._is_throttled(again=again)

    def _charge(self, messages: int, size: int, *, again: bool) -> None:
        if not again:
            super()._charge(messages, size, again=again)


class ReadsBeyondQuota(DispatchLimiter):
    """A read takes as many entries as there are permits for, however few tokens are left."""

    breaks = "throttling.reads-within-quota"
    stands_for = "the limiter asked whether there are tokens, and not how many"

    def _fewest(self, wanted: int, allowed: Sequence[int]) -> int:
        return wanted if super()._fewest(wanted, allowed) > 0 else 0


class NonPersistentWaitsForRate(Passing):
    """What a non-persistent topic's rate does not allow is sent when there are tokens again."""

    breaks = "throttling.non-persistent-drops-excess"
    stands_for = "messages of a non-persistent topic queued by the limiter of persistent ones"

    _beyond_rate: tuple[Entry, ...] = ()

    def _miss(self, entry: Entry, *, able: bool) -> None:
        if able:
            self._beyond_rate = *self._beyond_rate, entry
        else:
            super()._miss(entry, able=able)

    def read(self) -> None:
        waiting, self._beyond_rate = self._beyond_rate, ()
        for entry in waiting:
            self.pass_on(entry)
        super().read()


class RatePeriodAlwaysOneSecond(DispatchLimiter):
    """The messages of a dispatch rate are given every second, however long its period is."""

    breaks = "throttling.rate-period-respected"
    stands_for = "ratePeriodInSecond not read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, period_s=1), published)


class PreciseFlowControlIgnored(Backlog):
    """Precise flow control is not looked at: reads are sized by permits alone."""

    breaks = "throttling.precise-dispatcher-flow-control"
    stands_for = "preciseDispatcherFlowControl not read: a batch counted as one message"

    def __init__(self, host: Host, store: Store, cursor: Cursor) -> None:
        super().__init__(host, store, cursor)
        self._is_precise = False


class RateCountsBatchedMessages(Backlog):
    """A batch is charged with its messages where it counts as one."""

    breaks = "throttling.batch-counts-once"
    stands_for = "dispatchThrottlingOnBatchMessageEnabled not read"

    def _counted(self, messages: int) -> int:
        return messages


class ThrottlesWithoutBacklog(Backlog):
    """Subscriptions without a backlog are throttled where they are to be spared."""

    breaks = "throttling.no-backlog-not-throttled"
    stands_for = "dispatchThrottlingOnNonBacklogConsumerEnabled not read"

    def _is_throttled(self, *, again: bool) -> bool:
        return True


class HasReplayLimiter(DispatchLimiter):
    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, rate, published)
        self._rate = rate
        self._of_replay: DispatchLimiter | None = None

    def of_replay(self) -> DispatchLimiter:
        if self._of_replay is None:
            self._of_replay = DispatchLimiter(self._host, self._rate)
        return self._of_replay


class ReplayHasOwnRate(Backlog):
    """What comes again has the whole dispatch rate for itself, beside what is new."""

    breaks = "throttling.replay-overshoots-once"
    stands_for = "a limiter for each kind of read in place of one for both"
    also = (HasReplayLimiter,)

    def _limiters_for(self, *, again: bool) -> Sequence[DispatchLimiter]:
        limiters = super()._limiters_for(again=again)
        return [one.of_replay() for one in limiters if isinstance(one, HasReplayLimiter)] if again else limiters
