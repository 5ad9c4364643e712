"""A topic: its producers and subscriptions, around the stored entries.

A topic is loaded when it is first used and again after every unload; what a broker keeps in memory only is lost
then: redelivery counts, batch-index acknowledgements, the buckets of its rates, what deduplication had not written yet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from assay_conformance.broker import limits, replies
from assay_conformance.broker.admission import ENDED, GONE, UNLOADED, Admission
from assay_conformance.broker.compaction import Compaction
from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.cursor import Cursor
from assay_conformance.broker.dedup import Deduplication
from assay_conformance.broker.host import Host
from assay_conformance.broker.housekeeping import Housekeeping
from assay_conformance.broker.limits import SubscribeLimiter
from assay_conformance.broker.names import TopicName
from assay_conformance.broker.pacing import PublishGate
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.publishing import Publishing
from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.store import Entry, Store
from assay_conformance.broker.subscription import Subscription
from assay_conformance.broker.throttle import DispatchLimiter
from assay_conformance.broker.transient import NoStore, TransientSubscription
from assay_conformance.model.event import MessageId
from assay_conformance.model.policy import Policies, Rate
from assay_conformance.wire import Payload
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe, ServerError

Settled = Callable[[RefusalError | None], None]
"""Called with the outcome of an admission, which may take a while: None when it was granted."""


class Topic:
    """`local` is its name in the topology. `new_ledger` gives ids that only increase. `gone`: it was deleted.
    `loaded_ms` is when it was loaded last."""

    def __init__(
        self, host: Host, name: TopicName, local: str, policies: Policies, new_ledger: Callable[[], int]
    ) -> None:
        self.name = name
        self.local = local
        self.partition = name.partition
        self.persistent = name.domain == "persistent"
        kind: type[Store] = Store if self.persistent else NoStore
        self.store = host.implementation(kind)(new_ledger, host.settings.ledger_entries)
        self.publishing = host.implementation(Publishing)(host, self.store, self._report_stored, self._dispatch)
        self.admission = host.implementation(Admission)(self)
        self.housekeeping = host.implementation(Housekeeping)(host, self)
        self.subscriptions: dict[str, Subscription] = {}
        self.policies = Policies()
        self.gone = False
        self.loaded_ms = host.unix_ms
        self.compaction: Compaction | None = None
        self._subscribe_limiter: SubscribeLimiter | None = None
        self._host = host
        self._new_ledger = new_ledger
        self._dispatch_limiter: DispatchLimiter | None = None
        self._shared_limiter: DispatchLimiter | None = None
        self.store.open_ledger(new_ledger())
        self.apply(policies)

    @property
    def producers(self) -> dict[str, Producer]:
        """By name."""
        return self.admission.producers

    # --- entries -----------------------------------------------------------------------------------------------------

    def _report_stored(self, entry: Entry) -> None:
        if self.persistent:
            self._host.sink.stored(self.local, MessageId(entry.ledger, entry.entry, self.partition), entry.payload)

    def store_raw(self, payload: Payload) -> None:
        """Append an entry as it is, past deduplication, rates and producers."""
        entry = self.store.add(payload)
        self._report_stored(entry)
        self._dispatch(entry)

    def _dispatch(self, entry: Entry) -> None:
        for subscription in self.subscriptions.values():
            subscription.stored(entry)

    # --- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(self, name: str, start: int, *, durable: bool) -> Subscription:
        """Return the subscription of this name; a new one begins at entry `start`.

        Raises RefusalError where there may be none.
        """
        known = self.subscriptions.get(name)
        if known is not None:
            if self.persistent and known.durable != durable and not known.orphaned:
                raise RefusalError(ServerError.NotAllowedError, f"Subscription {name} exists with another durability")
            known.orphaned = False
            return known
        if self.persistent:
            limits.check_subscriptions(self.policies, self.name, len(self.subscriptions))
        cursor = self._host.implementation(Cursor)(max(start, self.store.deleted))
        kind: type[Subscription] = Subscription if self.persistent else TransientSubscription
        made = self._host.implementation(kind)(self._host, name, self.store, cursor, durable=durable, topic=self.name)
        made.terminated = self.publishing.terminated
        made.backlog.compaction = self.compaction
        self.subscriptions[name] = made
        made.take_policies(self.policies)
        self._limit(made)
        return made

    def join(self, consumer: Consumer, request: CommandSubscribe, start: int, settled: Settled) -> None:
        """Take a consumer in. One that has what it asks for, an Exclusive subscription or a range of keys, is asked
        first whether it lives."""
        try:
            limits.check_consumers(self.policies, self.subscriptions)
            limits.check_kind(self.policies, self.name, request.subType)
            if self._subscribe_limiter is not None:
                self._subscribe_limiter.check(consumer.name, consumer.consumer_id)
        except RefusalError as refusal:
            settled(refusal)
            return
        self._join(consumer, request, start, settled)

    def _join(self, consumer: Consumer, request: CommandSubscribe, start: int, settled: Settled) -> None:
        if consumer.left:
            return
        if self.gone:
            settled(GONE)
            return
        try:
            is_new = request.subscription not in self.subscriptions
            subscription = self.subscribe(request.subscription, start, durable=request.durable)
            if is_new:
                subscription.replicated = request.replicate_subscription_state
                subscription.properties = {pair.key: pair.value for pair in request.subscription_properties}
                self._begin_where_said(subscription, request)
            subscription.check_place(consumer, request.subType)
            holder = subscription.holder(consumer, request.subType)
            if holder is None:
                subscription.join(consumer, request.subType)
        except RefusalError as refusal:
            settled(refusal)
            return
        if holder is None:
            settled(None)
        else:
            taken = subscription.refusal_beside(holder)
            holder.session.liveness.ask(partial(self._join_beside, consumer, request, start, settled, taken))

    def _join_beside(
        self,
        consumer: Consumer,
        request: CommandSubscribe,
        start: int,
        settled: Settled,
        taken: RefusalError,
        alive: bool,
    ) -> None:
        """Join the consumer if the holder proved dead; a consumer that has left meanwhile gets no answer."""
        if not alive:
            self._join(consumer, request, start, settled)
        elif not consumer.left:
            settled(taken)

    def _begin_where_said(self, subscription: Subscription, request: CommandSubscribe) -> None:
        """Keep the start of a cursor that reads compacted, even one of another topic.

        Any other is moved at once to a position of the topic (NonDurableCursorImpl.recoverCursor).
        """
        if not subscription.durable and request.read_compacted and request.HasField("start_message_id"):
            before = self.store.named_before(request.start_message_id)
            if before is not None:
                subscription.cursor.begin_behind(before)

    def drop(self, subscription: Subscription) -> None:
        subscription.backlog.close()
        del self.subscriptions[subscription.name]

    # --- what the bench does to a topic -----------------------------------------------------------------------------

    def apply(self, policies: Policies) -> None:
        """Take on policies. Rates that changed start with full buckets, deduplication with nothing."""
        before, self.policies = self.policies, policies
        self.publishing.take_policies(policies)
        if not policies.deduplication or not self.persistent:
            self.publishing.dedup = None
        elif self.publishing.dedup is None:
            self.publishing.dedup = self._host.implementation(Deduplication)(self._host, self.store.entries)
            for name in self.producers:
                self.publishing.dedup.joined(name)
        for subscription in self.subscriptions.values():
            subscription.take_policies(policies)
        self.housekeeping.apply(policies)
        rate = policies.subscribe_rate
        if rate != before.subscribe_rate:
            self._subscribe_limiter = None if rate is None else SubscribeLimiter(self._host, rate)
        if policies.encryption_required:
            self.admission.evict_unencrypted()
        if _rates(policies) != _rates(before):
            self._start_rates()

    def _start_rates(self) -> None:
        rate = self.policies.publish_rate
        gate = self._host.implementation(PublishGate)
        self.publishing.limit(gate(self._host, rate) if rate is not None and rate.limits else None)
        self._dispatch_limiter = self._limiter(self.policies.dispatch_rate)
        for subscription in self.subscriptions.values():
            self._limit(subscription)

    def share(self, limiter: DispatchLimiter | None) -> None:
        """Set the dispatch rate that this topic shares with all others of its broker."""
        self._shared_limiter = limiter
        for subscription in self.subscriptions.values():
            self._limit(subscription)

    def _limit(self, subscription: Subscription) -> None:
        levels = (self._shared_limiter, self._dispatch_limiter, self._limiter(self.policies.subscription_rate))
        subscription.limit(tuple(limiter for limiter in levels if limiter is not None))

    def _limiter(self, rate: Rate | None) -> DispatchLimiter | None:
        if rate is None or not rate.limits:
            return None
        return self._host.implementation(DispatchLimiter)(self._host, rate, self.store.published)

    def terminate(self) -> None:
        """Terminate the topic.

        Nothing more is stored but what waits to be: a ledger is closed after its last write. Producers are
        disconnected, consumers are notified once they have everything.
        """
        self.publishing.release()
        self.publishing.terminated = True
        self.admission.evict(None, ENDED)
        for subscription in self.subscriptions.values():
            subscription.terminated = True
            subscription.notify_end()

    def compact(self) -> None:
        """Keep of what is stored only the newest of each key, for consumers that read compacted."""
        self.compaction = Compaction(self.store.entries)
        for subscription in self.subscriptions.values():
            subscription.backlog.compaction = self.compaction

    def unload(self, url: str | None) -> None:
        """Close all producers and consumers, finish what waits to be written, and load again."""
        self.admission.evict(url, UNLOADED)
        for subscription in list(self.subscriptions.values()):
            subscription.close_consumers(url)
        self.store.release()
        self.reload()

    def migrate(self, url: str) -> None:
        """Send all producers and consumers to another cluster, and load there."""
        for producer in list(self.producers.values()):
            producer.session.notify(replies.producer_migrated(producer.producer_id, url))
        for subscription in self.subscriptions.values():
            for consumer in subscription.consumers:
                consumer.session.notify(replies.consumer_migrated(consumer.consumer_id, url))
        self.unload(None)

    def close(self) -> None:
        """Delete the topic: close its producers and consumers, and drop what was stored or waits to be."""
        self.admission.evict(None, GONE)
        for subscription in list(self.subscriptions.values()):
            subscription.close_consumers(None)
            self.drop(subscription)
        for append in self.store.take_waiting():
            append.fail()
        self.gone = True

    def fail_writes(self) -> None:
        """Fail what waits to be written: its producers are disconnected, and may send it again."""
        failed = self.store.take_waiting()
        self.admission.evict(None, UNLOADED)
        for append in failed:
            append.fail()
        if self.publishing.dedup is not None:
            self.publishing.dedup.forget_unwritten()

    def reload(self, *, crashed: bool = False) -> None:
        """Come up again with what was written."""
        self.store.take_waiting()
        self.loaded_ms = self._host.unix_ms
        self._open_ledger()
        for subscription in list(self.subscriptions.values()):
            if subscription.durable and self.persistent:
                subscription.reload(crashed=crashed)
            else:
                self.drop(subscription)
        self.housekeeping.trim()
        if self.publishing.dedup is not None:
            self.publishing.dedup.recover()
        self._start_rates()

    def _open_ledger(self) -> None:
        self.store.open_ledger(self._new_ledger())


def _rates(policies: Policies) -> tuple[Rate | None, ...]:
    return policies.publish_rate, policies.dispatch_rate, policies.subscription_rate
