"""Brokers that keep the wrong rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from assay_conformance.broker import replies
from assay_conformance.broker.backlog import Backlog
from assay_conformance.broker.buffer import PublishBuffer
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.host import Host
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.pacing import PublishGate
from assay_conformance.broker.policies import PolicyLevels
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import Publishing, fail, highest_of, last_sequence_id
from assay_conformance.broker.reading import Reading
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.throttle import DispatchLimiter, PeriodBucket
from assay_conformance.broker.topic import Topic
from assay_conformance.broker.topics import Topics
from assay_conformance.broker.transient import Passing
from assay_conformance.model.policy import Policies, Rate
from assay_conformance.model.topic_names import base_topic
from assay_conformance.wire import Payload
from assay_conformance.wire.pulsar_pb2 import CommandSend, ServerError


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


class PublishThrottleAnswersError(Publishing):
    """A SEND beyond the publish rate is answered by SEND_ERROR instead of being read later."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "a rate limit that rejects in place of pausing the connection"

    def _pace(self, producer: Producer, send: CommandSend, payload: Payload) -> bool:
        if any(gate.is_shut for gate in self._gates):
            fail(producer, last_sequence_id(send), ServerError.TooManyRequests, "Publish rate exceeded")
            return False
        for gate in self._gates:
            gate.charge(max(1, send.num_messages), len(payload.block))
        return True


class PublishThrottleDrops(Publishing):
    """A SEND beyond the publish rate gets its receipt and is not stored."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "a limiter that discards what is beyond it and completes it all the same"

    def _pace(self, producer: Producer, send: CommandSend, payload: Payload) -> bool:
        if any(gate.is_shut for gate in self._gates):
            ids = send.sequence_id, highest_of(send), *self._store.next_position
            producer.session.send(replies.send_receipt(producer.producer_id, *ids))
            return False
        for gate in self._gates:
            gate.charge(max(1, send.num_messages), len(payload.block))
        return True


class BrokerPublishRateIgnored(Topics):
    """The publish rate that a broker has for all its topics pauses nobody."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "the publish rate looked for at the topic alone, and not at the broker"

    def _share_rates(self, topic: Topic) -> None:
        self._gates = []
        super()._share_rates(topic)


class PublishRateHalved(PublishGate):
    """Of a publish rate half is given."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "a rate divided between two limiters that both have to admit a message"

    def __init__(self, host: Host, rate: Rate) -> None:
        super().__init__(host, msgspec.structs.replace(rate, messages=rate.messages // 2, bytes=rate.bytes // 2))


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


class DispatchLevelsAreAlternatives(Backlog):
    """Of the rates of broker, topic and subscription only all together stop dispatch."""

    breaks = "throttling.all-levels-hold"
    stands_for = "the limiters of several levels joined by or where all hold"

    def _of_levels(self, allowed: Sequence[int]) -> int:
        return max(allowed)


class PartitionsSplitRate(Topics):
    """The dispatch rate of a partitioned topic is divided among its partitions."""

    breaks = "throttling.rate-per-partition"
    stands_for = "a rate of a partitioned topic taken for that of all its partitions together"

    def _effective(self, name: TopicName) -> Policies:
        policies, partitions = super()._effective(name), self._partitions.get(base_topic(name.full))
        rate = policies.dispatch_rate
        if not partitions or rate is None:
            return policies
        share = msgspec.structs.replace(rate, messages=rate.messages // partitions, bytes=rate.bytes // partitions)
        return msgspec.structs.replace(policies, dispatch_rate=share)


class NamespaceOverrulesTopic(PolicyLevels):
    """What a namespace sets holds, whatever a topic sets itself."""

    breaks = "throttling.nearest-policy-wins"
    stands_for = "policies merged in the wrong order"

    def _levels(self, topic: str, namespace: str) -> tuple[Policies, Policies]:
        nearest, farther = super()._levels(topic, namespace)
        return farther, nearest


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


class PublishBufferLimitIgnored(PublishBuffer):
    """However many bytes of all connections wait for the store, SENDs are taken in."""

    breaks = "throttling.publish-buffer-pauses-reads"
    stands_for = "maxMessagePublishBufferSizeInMB not read"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._most_bytes = 0


class PendingPublishLimitIgnored(Reading):
    """A connection is read on, however many of its SENDs the store has not written."""

    breaks = "throttling.pending-publishes-pause-reads"
    stands_for = "maxPendingPublishRequestsPerConnection not read"

    @property
    def _has_too_many(self) -> bool:
        return False
