"""A topic: its producers and subscriptions, around the stored entries.

A topic is loaded when somebody first uses it and again after every unload; what a broker keeps in memory only is lost
then: redelivery counts, batch-index acknowledgements, the buckets of its rates, what deduplication had not written yet.
"""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.broker.access import Access, Entrance
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.dedup import Deduplication
from assay_conformance.broker.host import Host
from assay_conformance.broker.mutations import BrokerMutation
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import TERMINATED, Publishing
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.throttle import DispatchLimiter, PublishLimiter
from assay_conformance.broker.transient import NoStore, TransientSubscription
from assay_conformance.model.event import MessageId
from assay_conformance.model.policy import Policies, Rate
from assay_conformance.wire import Payload
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe, ServerError

Settled = Callable[[RefusalError | None], None]
"""Told the outcome of an admission, which may take a while: None when it was granted."""


_GONE = RefusalError(ServerError.TopicNotFound, "The topic was deleted")
_FENCED = RefusalError(ServerError.ProducerFenced, "Fenced out")
_UNLOADED = RefusalError(ServerError.ServiceNotReady, "The topic was unloaded: redo the lookup")
_TERMINATED = RefusalError(ServerError.TopicTerminatedError, TERMINATED)
_TAKEN = RefusalError(ServerError.ConsumerBusy, "Exclusive consumer is already connected")


class Topic:
    """`local` is its name in the topology. `new_ledger` gives ids that only increase. `gone`: it was deleted."""

    def __init__(
        self, host: Host, name: TopicName, local: str, policies: Policies, new_ledger: Callable[[], int]
    ) -> None:
        self.name = name
        self.local = local
        self.partition = name.partition
        self.persistent = name.domain == "persistent"
        self.store = Store() if self.persistent else NoStore()
        self.publishing = Publishing(host, self.store, self._tell_stored, self._dispatch)
        self.producers: dict[str, Producer] = {}
        self.access = Access()
        self.subscriptions: dict[str, Subscription] = {}
        self.policies = Policies()
        self.gone = False
        self._host = host
        self._new_ledger = new_ledger
        self._dispatch_limiter: DispatchLimiter | None = None
        self.store.open_ledger(new_ledger())
        self.apply(policies)

    # --- producers --------------------------------------------------------------------------------------------------

    def admit(self, producer: Producer) -> None:
        """Take a producer in, refuse it, or let it wait until the topic is its own."""
        try:
            self._check_usable()
            entry = self.access.ask(producer, occupied=bool(self.producers))
            if entry is Entrance.QUEUED:
                producer.queued()
                return
            if entry is Entrance.FENCES:
                self._throw_out()
                self.access.hold(producer)
            self._register(producer)
        except RefusalError as refusal:
            self._refuse(producer, refusal)

    def _refuse(self, producer: Producer, refusal: RefusalError) -> None:
        producer.refused(refusal)
        self.forget(producer)

    def _check_usable(self) -> None:
        if self.gone:
            raise _GONE
        if self.publishing.terminated:
            raise _TERMINATED

    def _throw_out(self) -> None:
        """Make room for one that fences."""
        self._refuse_waiting(_FENCED)
        while self.producers:
            next(iter(self.producers.values())).fence()

    def _refuse_waiting(self, refusal: RefusalError) -> None:
        """Before those they wait for go: lest it is their turn."""
        while self.access.waiting:
            self.access.waiting.popleft().refused(refusal)

    def _register(self, producer: Producer) -> None:
        """Give a producer its name. One that is taken on another connection is asked for there first."""
        holder = self.producers.get(producer.name)
        if holder is None and 0 < (self.policies.max_producers or 0) <= len(self.producers):
            raise RefusalError(ServerError.ProducerBusy, f"Topic '{self.name.full}' reached max producers limit")
        if holder is None or producer.succeeds(holder):
            self.producers[producer.name] = producer
            producer.admitted()
        elif holder.session is producer.session:
            raise self._busy(producer)
        else:
            holder.session.ask_alive(lambda alive: self._holder_answered(producer, alive))

    def _holder_answered(self, producer: Producer, alive: bool) -> None:
        if producer.gone:
            return
        if alive:
            self._refuse(producer, self._busy(producer))
        else:
            self.admit(producer)

    def _busy(self, producer: Producer) -> RefusalError:
        return RefusalError(
            ServerError.ProducerBusy,
            f"Producer with name '{producer.name}' is already connected to topic '{self.name.full}'",
        )

    def forget(self, producer: Producer) -> None:
        """A producer is gone, or does not wait any more; it may be another one's turn."""
        if self.producers.get(producer.name) is producer:
            del self.producers[producer.name]
        following = self.access.left(producer, occupied=bool(self.producers))
        if following is not None:
            self._promote(following)

    def _promote(self, producer: Producer) -> None:
        try:
            self._check_usable()
            self._register(producer)
        except RefusalError as refusal:
            self._refuse(producer, refusal)

    # --- entries -----------------------------------------------------------------------------------------------------

    def _tell_stored(self, entry: Entry) -> None:
        if self.persistent:
            self._host.sink.stored(self.local, MessageId(entry.ledger, entry.entry, self.partition), entry.payload)

    def store_raw(self, payload: Payload) -> None:
        """Append an entry as it is, past deduplication, rates and producers."""
        entry = self.store.add(payload)
        self._tell_stored(entry)
        self._dispatch(entry)

    def _dispatch(self, entry: Entry) -> None:
        for subscription in self.subscriptions.values():
            subscription.stored(entry)

    # --- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(self, name: str, start: int, *, durable: bool) -> Subscription:
        """The subscription of this name; a new one begins at entry `start`."""
        known = self.subscriptions.get(name)
        if known is not None:
            if known.durable != durable:
                raise RefusalError(ServerError.NotAllowedError, f"Subscription {name} exists with another durability")
            if not known.consumers and self._host.breaks(BrokerMutation.RESUBSCRIBE_STARTS_OVER):
                known.cursor.reset(start)
            return known
        cursor = Cursor(start, forgets=self._host.breaks(BrokerMutation.REDELIVERS_ACKED))
        kind = Subscription if self.persistent else TransientSubscription
        made = kind(self._host, name, self.store, cursor, durable=durable, partition=self.partition)
        made.terminated = self.publishing.terminated
        self.subscriptions[name] = made
        made.take_policies(self.policies)
        self._limit(made)
        return made

    def join(self, consumer: Consumer, request: CommandSubscribe, start: int, settled: Settled) -> None:
        """Take a consumer in. One an Exclusive subscription has already is asked first whether it lives."""
        if consumer.session.ended:
            return
        if self.gone:
            settled(_GONE)
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

    def apply(self, policies: Policies) -> None:
        """Take on policies. Rates that changed start with full buckets, deduplication with what is stored."""
        before, self.policies = self.policies, policies
        if not policies.deduplication or not self.persistent:
            self.publishing.dedup = None
        elif self.publishing.dedup is None:
            self.publishing.dedup = Deduplication()
            self.publishing.dedup.replay(self.store.entries)
        for subscription in self.subscriptions.values():
            subscription.take_policies(policies)
        if _rates(policies) != _rates(before):
            self._start_rates()

    def _start_rates(self) -> None:
        rate = self.policies.publish_rate
        self.publishing.limiter = PublishLimiter(rate, self._host.now_ns) if rate is not None and rate.limits else None
        self._dispatch_limiter = self._limiter(self.policies.dispatch_rate)
        for subscription in self.subscriptions.values():
            self._limit(subscription)

    def _limit(self, subscription: Subscription) -> None:
        own = self._limiter(self.policies.subscription_rate)
        subscription.limit(tuple(limiter for limiter in (self._dispatch_limiter, own) if limiter is not None))

    def _limiter(self, rate: Rate | None) -> DispatchLimiter | None:
        if rate is None or not rate.limits:
            return None
        forgives = self._host.breaks(BrokerMutation.DISPATCH_FORGIVES_OVERSHOOT)
        return DispatchLimiter(rate, self._host.now_ns, forgives=forgives)

    def terminate(self) -> None:
        """Nothing more is stored: producers are sent away, consumers are told once they have everything."""
        self.publishing.terminated = True
        self._evict_producers(None, _TERMINATED)
        for subscription in self.subscriptions.values():
            subscription.terminated = True
            subscription.tell_end()

    def unload(self, url: str | None) -> None:
        """Send everybody away, finish what waits to be written, and load again."""
        self._evict_producers(url, _UNLOADED)
        for subscription in list(self.subscriptions.values()):
            subscription.close_consumers(url)
        self.store.release()
        self.reload()

    def close(self) -> None:
        """Deleted: send everybody away; what was stored, or waits to be, is gone with it."""
        self._evict_producers(None, _GONE)
        for subscription in list(self.subscriptions.values()):
            subscription.close_consumers(None)
            self.drop(subscription)
        self.store.forget_waiting()
        self.gone = True

    def reload(self) -> None:
        """Come up again with what was written."""
        self.store.forget_waiting()
        self.store.open_ledger(self._new_ledger())
        for subscription in list(self.subscriptions.values()):
            if subscription.durable and self.persistent:
                subscription.reload()
            else:
                self.drop(subscription)
        if self.publishing.dedup is not None:
            self.publishing.dedup.replay(self.store.entries)
        self._start_rates()

    def _evict_producers(self, url: str | None, refusal: RefusalError) -> None:
        self._refuse_waiting(refusal)
        # Closing one may end its connection, and take others with it.
        while self.producers:
            next(iter(self.producers.values())).evict(url)


def _rates(policies: Policies) -> tuple[Rate | None, ...]:
    return policies.publish_rate, policies.dispatch_rate, policies.subscription_rate
