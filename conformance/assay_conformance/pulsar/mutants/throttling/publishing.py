"""Brokers that do not hold what producers publish to its rates and limits."""

from __future__ import annotations

import msgspec

from assay_conformance.broker import replies
from assay_conformance.broker.buffer import PublishBuffer
from assay_conformance.broker.host import Host
from assay_conformance.broker.pacing import PublishGate
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import Publishing, fail, highest_of, last_sequence_id
from assay_conformance.broker.reading import Reading
from assay_conformance.broker.topic import Topic
from assay_conformance.broker.topics import Topics
from assay_conformance.model.policy import Rate
from assay_conformance.wire import Payload
from assay_conformance.wire.pulsar_pb2 import CommandSend, ServerError


class PublishThrottleAnswersError(Publishing):
    """A SEND beyond the publish rate is answered by SEND_ERROR instead of being read later."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "a rate limit that rejects sends instead of pausing the connection"

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
    stands_for = "a limiter that discards sends beyond the rate and completes them all the same"

    def _pace(self, producer: Producer, send: CommandSend, payload: Payload) -> bool:
        if any(gate.is_shut for gate in self._gates):
            ids = send.sequence_id, highest_of(send), *self._store.next_position
            producer.session.send(replies.send_receipt(producer.producer_id, *ids))
            return False
        for gate in self._gates:
            gate.charge(max(1, send.num_messages), len(payload.block))
        return True


class BrokerPublishRateIgnored(Topics):
    """The publish rate of a broker for all its topics is ignored."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "only the topic's publish rate checked, not the broker's"

    def _share_rates(self, topic: Topic) -> None:
        self._gates = []
        super()._share_rates(topic)


class PublishRateHalved(PublishGate):
    """Only half of a publish rate is admitted."""

    breaks = "throttling.publish-rate-holds"
    stands_for = "a rate divided between two limiters that both have to admit a message"

    def __init__(self, host: Host, rate: Rate) -> None:
        super().__init__(host, msgspec.structs.replace(rate, messages=rate.messages // 2, bytes=rate.bytes // 2))


class PublishBufferLimitIgnored(PublishBuffer):
    """Connections are read however many bytes of SENDs wait for the store."""

    breaks = "throttling.publish-buffer-pauses-reads"
    stands_for = "maxMessagePublishBufferSizeInMB not read"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._most_bytes = 0


class PendingPublishLimitIgnored(Reading):
    """A connection is read however many of its SENDs wait for the store."""

    breaks = "throttling.pending-publishes-pause-reads"
    stands_for = "maxPendingPublishRequestsPerConnection not read"

    @property
    def _has_too_many(self) -> bool:
        return False
