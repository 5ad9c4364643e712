"""A topic: what a SEND goes through, and what stands around the stored entries.

    SEND -> terminated? -> deduplication -> publish rate -> store -> receipt -> subscriptions

A topic is loaded when somebody first uses it and again after every unload; what a broker keeps in memory only is lost
then: redelivery counts, batch-index acknowledgements, the buckets of its rates, what deduplication had not written yet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from assay_conformance.broker import replies
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.dedup import Copy, Deduplication, is_early_chunk
from assay_conformance.broker.host import Host
from assay_conformance.broker.mutations import BrokerMutation
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.sabotage import writer
from assay_conformance.broker.store import Append, Entry, Store
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.throttle import DispatchLimiter, PublishLimiter
from assay_conformance.model.case import Rate
from assay_conformance.model.case import Topic as Policy
from assay_conformance.model.event import MessageId
from assay_conformance.wire import NO_ID, Frame, MetadataError, Payload
from assay_conformance.wire.pulsar_pb2 import CommandSend, CommandSubscribe, ServerError

Settled = Callable[[RefusalError | None], None]
"""Told the outcome of an admission, which may take a while: None when it was granted."""

UNKNOWN_COPY = "Cannot determine whether the message is a duplicate at this time"


_TAKEN = RefusalError(ServerError.ConsumerBusy, "Exclusive consumer is already connected")


class Topic:
    """`local` is its name in the topology. `new_ledger` gives ids that only increase."""

    def __init__(self, host: Host, name: TopicName, local: str, policy: Policy, new_ledger: Callable[[], int]) -> None:
        self.name = name
        self.local = local
        self.partition = name.partition
        self.store = Store()
        self.producers: dict[str, Producer] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.dedup: Deduplication | None = None
        self.terminated = False
        self.policy = policy
        self._host = host
        self._new_ledger = new_ledger
        self._write = writer(host, self.store)
        self._throttled: deque[Producer] = deque()
        self._publish_limiter: PublishLimiter | None = None
        self._dispatch_limiter: DispatchLimiter | None = None
        self._receipts: list[tuple[Producer, Frame]] | None = None
        self.store.open_ledger(new_ledger())
        self.apply(policy)

    # --- producers --------------------------------------------------------------------------------------------------

    def admit(self, producer: Producer, settled: Settled) -> None:
        """Take a producer in. A name that is taken on another connection is asked for there first."""
        if producer.session.ended:
            return
        if self.terminated:
            settled(RefusalError(ServerError.TopicTerminatedError, "Topic was already terminated"))
            return
        holder = self.producers.get(producer.name)
        if holder is None or producer.succeeds(holder):
            self.producers[producer.name] = producer
            settled(None)
        elif holder.session is producer.session:
            settled(self._busy(producer))
        else:
            holder.session.ask_alive(
                lambda alive: settled(self._busy(producer)) if alive else self.admit(producer, settled)
            )

    def _busy(self, producer: Producer) -> RefusalError:
        return RefusalError(
            ServerError.ProducerBusy,
            f"Producer with name '{producer.name}' is already connected to topic '{self.name.full}'",
        )

    def forget(self, producer: Producer) -> None:
        if self.producers.get(producer.name) is producer:
            del self.producers[producer.name]

    # --- publishing -------------------------------------------------------------------------------------------------

    def publish(self, producer: Producer, send: CommandSend, payload: Payload) -> None:
        """Serve one SEND whose checksum is right."""
        lowest = send.sequence_id
        highest = send.highest_sequence_id if send.HasField("highest_sequence_id") else NO_ID
        last = highest if lowest <= highest != NO_ID else lowest
        if self.terminated:
            self._fail(producer, last, ServerError.TopicTerminatedError, "Topic was already terminated")
            return
        limiter = self._publish_limiter
        if limiter is not None and self._throttles_wrongly(producer, limiter, lowest, last, highest):
            return
        recorded = self.dedup is not None and not (send.is_chunk and _is_early_chunk(payload))
        if recorded and not self._is_new(producer, lowest, last, highest):
            return
        if limiter is not None and not limiter.consume(
            max(1, send.num_messages), len(payload.block), self._host.now_ns
        ):
            self._throttle(producer)
        publish = Publish(self, producer, payload, lowest, highest, last if recorded else None)
        self._write(publish)
        if not publish.written:
            publish.wait()

    def _is_new(self, producer: Producer, lowest: int, last: int, highest: int) -> bool:
        """Ask deduplication, and answer what is not new."""
        assert self.dedup is not None
        copy = self.dedup.push(producer.name, lowest, last)
        if copy is Copy.DUPLICATE and self._host.breaks(BrokerMutation.DEDUP_STORES_DUPLICATES):
            return True
        if copy is Copy.DUPLICATE:
            # Answered without the store: it may overtake the receipt of an earlier SEND that still waits there.
            producer.session.send(replies.send_receipt(producer.producer_id, lowest, highest, NO_ID, NO_ID))
        elif copy is Copy.UNKNOWN:
            self._fail(producer, last, ServerError.PersistenceError, UNKNOWN_COPY)
        return copy is Copy.NEW

    def _fail(self, producer: Producer, sequence_id: int, code: ServerError, text: str) -> None:
        producer.session.send(replies.send_error(producer.producer_id, sequence_id, code, text))

    def written(self, publish: Publish, entry: Entry) -> None:
        """A SEND is durable: tell the witness, the producer and the subscriptions, in this order."""
        self._tell_stored(entry)
        self.answer(publish, entry)
        for subscription in self.subscriptions.values():
            subscription.stored()

    def answer(self, publish: Publish, entry: Entry) -> None:
        """Send the receipt that says it is stored as `entry`."""
        if publish.recorded is not None and self.dedup is not None:
            self.dedup.persist(publish.producer_name, publish.recorded)
        producer = publish.producer
        if not producer.gone:
            receipt = replies.send_receipt(
                producer.producer_id, publish.sequence_id, publish.highest, entry.ledger, entry.entry
            )
            if self._receipts is None:
                producer.session.send(receipt)
            else:
                self._receipts.append((producer, receipt))
        publish.settle()

    def _tell_stored(self, entry: Entry) -> None:
        self._host.sink.stored(self.local, MessageId(entry.ledger, entry.entry, self.partition), entry.payload)

    def store_raw(self, payload: Payload) -> None:
        """Append an entry as it is, past deduplication, rates and producers."""
        self._tell_stored(self.store.add(payload))
        for subscription in self.subscriptions.values():
            subscription.stored()

    def release(self) -> None:
        """End every hold of the store: what waited is written."""
        if self._host.breaks(BrokerMutation.RECEIPTS_OUT_OF_ORDER):
            self._receipts = []
        self.store.release()
        receipts, self._receipts = self._receipts, None
        for producer, receipt in reversed(receipts or []):
            producer.session.send(receipt)

    # --- publish rate -----------------------------------------------------------------------------------------------

    def _throttle(self, producer: Producer) -> None:
        """Stop reading this producer's connection until tokens are there; producers go on first come, first served."""
        if self._breaks_throttle():
            return
        producer.session.pause()
        self._throttled.append(producer)
        if len(self._throttled) == 1:
            self._wait_for_tokens()

    def _wait_for_tokens(self) -> None:
        assert self._publish_limiter is not None
        now_ns = self._host.now_ns
        self._host.timers.at(now_ns + self._publish_limiter.pause_ns(now_ns), self._unthrottle)

    def _unthrottle(self) -> None:
        while self._throttled:
            if self._publish_limiter is not None and self._publish_limiter.pause_ns(self._host.now_ns):
                self._wait_for_tokens()
                return
            self._throttled.popleft().session.resume()

    def _breaks_throttle(self) -> bool:
        return self._host.breaks(BrokerMutation.PUBLISH_THROTTLE_ANSWERS_ERROR) or self._host.breaks(
            BrokerMutation.PUBLISH_THROTTLE_DROPS
        )

    def _throttles_wrongly(
        self, producer: Producer, limiter: PublishLimiter, lowest: int, last: int, highest: int
    ) -> bool:
        """What a broker that does not throttle by reading later does beyond the rate; False for an honest one."""
        if not self._breaks_throttle() or not limiter.pause_ns(self._host.now_ns):
            return False
        if self._host.breaks(BrokerMutation.PUBLISH_THROTTLE_ANSWERS_ERROR):
            self._fail(producer, last, ServerError.TooManyRequests, "Publish rate exceeded")
        else:
            ledger, entry = self.store.next_position
            producer.session.send(replies.send_receipt(producer.producer_id, lowest, highest, ledger, entry))
        return True

    # --- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(self, name: str, start: int, *, durable: bool) -> Subscription:
        """The subscription of this name; a new one begins at entry `start`."""
        known = self.subscriptions.get(name)
        if known is not None:
            if known.durable != durable:
                raise RefusalError(ServerError.NotAllowedError, f"Subscription {name} exists with another durability")
            return known
        cursor = Cursor(start, forgets=self._host.breaks(BrokerMutation.REDELIVERS_ACKED))
        made = Subscription(self._host, name, self.store, cursor, durable=durable, partition=self.partition)
        made.terminated = self.terminated
        self.subscriptions[name] = made
        self._limit(made)
        return made

    def join(self, consumer: Consumer, request: CommandSubscribe, start: int, settled: Settled) -> None:
        """Take a consumer in. One an Exclusive subscription has already is asked first whether it lives."""
        if consumer.session.ended:
            return
        try:
            subscription = self.subscribe(request.subscription, start, durable=request.durable)
            holder = subscription.holder(request.subType)
            if holder is None:
                subscription.join(consumer, request.subType)
        except RefusalError as refusal:
            settled(refusal)
            return
        if holder is None:
            settled(None)
        else:
            holder.session.ask_alive(
                lambda alive: settled(_TAKEN) if alive else self.join(consumer, request, start, settled)
            )

    def drop(self, subscription: Subscription) -> None:
        subscription.backlog.close()
        del self.subscriptions[subscription.name]

    # --- what the bench does to a topic -----------------------------------------------------------------------------

    def apply(self, policy: Policy) -> None:
        """Take on a policy: rates start with full buckets, deduplication with what is stored."""
        self.policy = policy
        if not policy.deduplication:
            self.dedup = None
        elif self.dedup is None:
            self.dedup = Deduplication()
            self.dedup.replay(self.store.entries)
        self._start_rates()

    def _start_rates(self) -> None:
        self._publish_limiter = None
        if _is_limited(self.policy.publish_rate):
            self._publish_limiter = PublishLimiter(self.policy.publish_rate, self._host.now_ns)
        self._dispatch_limiter = self._limiter(self.policy.dispatch_rate)
        for subscription in self.subscriptions.values():
            self._limit(subscription)

    def _limit(self, subscription: Subscription) -> None:
        own = self._limiter(self.policy.subscription_rate)
        subscription.limit(tuple(limiter for limiter in (self._dispatch_limiter, own) if limiter is not None))

    def _limiter(self, rate: Rate) -> DispatchLimiter | None:
        if not _is_limited(rate):
            return None
        forgives = self._host.breaks(BrokerMutation.DISPATCH_FORGIVES_OVERSHOOT)
        return DispatchLimiter(rate, self._host.now_ns, forgives=forgives)

    def terminate(self) -> None:
        """Nothing more is stored: producers are sent away, consumers are told once they have everything."""
        self.terminated = True
        self._evict_producers(None)
        for subscription in self.subscriptions.values():
            subscription.terminated = True
            subscription.tell_end()

    def unload(self, url: str | None) -> None:
        """Send everybody away, finish what waits to be written, and load again."""
        self._evict_producers(url)
        for subscription in self.subscriptions.values():
            subscription.close_consumers(url)
        self.store.release()
        self.reload()

    def reload(self) -> None:
        """Come up again with what was written."""
        self.store.forget_waiting()
        self.store.open_ledger(self._new_ledger())
        for subscription in list(self.subscriptions.values()):
            if subscription.durable:
                subscription.reload()
            else:
                self.drop(subscription)
        if self.dedup is not None:
            self.dedup.replay(self.store.entries)
        self._start_rates()

    def _evict_producers(self, url: str | None) -> None:
        # Closing one may end its connection, and take others with it.
        while self.producers:
            producer = next(iter(self.producers.values()))
            producer.leave()
            producer.session.close_producer(producer.producer_id, url)


class Publish(Append):
    """A SEND on its way through the store. `recorded` is the id deduplication notes once it is durable."""

    __slots__ = ("_topic", "_waits", "highest", "producer", "recorded", "written")

    def __init__(
        self, topic: Topic, producer: Producer, payload: Payload, lowest: int, highest: int, recorded: int | None
    ) -> None:
        self.payload = payload
        self.producer_name = producer.name
        self.sequence_id = lowest
        self.highest = highest
        self.recorded = recorded
        self.producer = producer
        self.written = False
        self._waits = False
        self._topic = topic

    def done(self, entry: Entry) -> None:
        self.written = True
        self._topic.written(self, entry)

    def lose(self, entry: Entry) -> None:
        """Answer as if it had been stored there."""
        self.written = True
        self._topic.answer(self, entry)

    def wait(self) -> None:
        """The store has not taken it yet."""
        self._waits = True
        self.producer.in_flight += 1
        self.producer.session.write_begins()

    def settle(self) -> None:
        """It is answered."""
        if self._waits:
            self.producer.session.write_ended()
            self.producer.written()


def _is_limited(rate: Rate) -> bool:
    return bool(rate.messages or rate.bytes)


def _is_early_chunk(payload: Payload) -> bool:
    try:
        return is_early_chunk(payload.metadata)
    except MetadataError:
        return False
