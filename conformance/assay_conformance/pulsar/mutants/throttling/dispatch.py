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
    """Dispatch rates are ignored."""

    breaks = "throttling.dispatch-rate-holds"
    stands_for = "the rate limiter of a topic not used by the dispatcher"

    def _is_throttled(self, *, again: bool) -> bool:
        return False


class DispatchForgivesOvershoot(PeriodBucket):
    """Messages dispatched beyond the rate are not deducted from the next periods."""

    breaks = "throttling.repays-overshoot"
    stands_for = "a token bucket whose balance is cut off at zero"

    def _kept(self) -> int:
        return max(super()._kept(), 0)


class DispatchIgnoresBytes(DispatchLimiter):
    """Dispatch rates in bytes are ignored."""

    breaks = "throttling.dispatch-byte-rate-holds"
    stands_for = "only dispatchThrottlingRateInMsg read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, bytes=0), published)


class DispatchHalvesBytes(DispatchLimiter):
    """Only half of a dispatch rate in bytes is dispatched."""

    breaks = "throttling.dispatch-byte-rate-holds"
    stands_for = "bytes counted twice, before and after the read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, bytes=-(-rate.bytes // 2)), published)


class DispatchLimitsAreAlternatives(DispatchLimiter):
    """Dispatch stops only when both its rate in messages and its rate in bytes are used up."""

    breaks = "throttling.messages-and-bytes-together"
    stands_for = "two limits joined by 'or' instead of 'and'"

    def _fewest(self, wanted: int, allowed: Sequence[int]) -> int:
        several = len(allowed) > 1
        return min(wanted, max(0, *allowed)) if several else super()._fewest(wanted, allowed)


class RedeliveryNotCharged(Backlog):
    """Redeliveries ignore the dispatch rates, and are not charged to them."""

    breaks = "throttling.redelivery-is-charged"
    stands_for = "a redelivery path without the rate limiter"

    def _is_throttled(self, *, again: bool) -> bool:
        return not again and super()._is_throttled(again=again)

    def _charge(self, messages: int, size: int, *, again: bool) -> None:
        if not again:
            super()._charge(messages, size, again=again)


class ReadsBeyondQuota(DispatchLimiter):
    """A read takes as many entries as there are permits, however few tokens are left."""

    breaks = "throttling.reads-within-quota"
    stands_for = "only the presence of tokens checked, not their number"

    def _fewest(self, wanted: int, allowed: Sequence[int]) -> int:
        return wanted if super()._fewest(wanted, allowed) > 0 else 0


class NonPersistentWaitsForRate(Passing):
    """Messages beyond the rate of a non-persistent topic are sent later instead of dropped."""

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
    """The messages of a dispatch rate are available every second, however long its period is."""

    breaks = "throttling.rate-period-respected"
    stands_for = "ratePeriodInSecond not read"

    def __init__(self, host: Host, rate: Rate, published: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(host, msgspec.structs.replace(rate, period_s=1), published)


class PreciseFlowControlIgnored(Backlog):
    """Precise flow control is ignored: reads are sized by permits only."""

    breaks = "throttling.precise-dispatcher-flow-control"
    stands_for = "preciseDispatcherFlowControl not read: a batch counted as one message"

    def __init__(self, host: Host, store: Store, cursor: Cursor) -> None:
        super().__init__(host, store, cursor)
        self._is_precise = False


class RateCountsBatchedMessages(Backlog):
    """A batch is charged by its number of messages, although batches count as one."""

    breaks = "throttling.batch-counts-once"
    stands_for = "dispatchThrottlingOnBatchMessageEnabled not read"

    def _counted(self, messages: int) -> int:
        return messages


class ThrottlesWithoutBacklog(Backlog):
    """Subscriptions without a backlog are throttled, although they are to be exempt."""

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
    """Redeliveries have the whole dispatch rate for themselves, in addition to new messages."""

    breaks = "throttling.replay-overshoots-once"
    stands_for = "a limiter for each kind of read instead of one for both"
    also = (HasReplayLimiter,)

    def _limiters_for(self, *, again: bool) -> Sequence[DispatchLimiter]:
        limiters = super()._limiters_for(again=again)
        return [one.of_replay() for one in limiters if isinstance(one, HasReplayLimiter)] if again else limiters
