"""Clients that break the rules of subscriptions to several topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.handler import Phase
from assay_conformance.client.reader import ReadingPlace
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.topic_patterns import Add, TopicPattern
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import BaseCommand, Frame


class ConsumerReconnectsAfterClose(Consumer):
    """Close during a reconnect leaves the retries of the consumer running."""

    breaks = "subscription.closed-stays-closed"
    stands_for = "apache/pulsar#22958: a consumer closed while it reconnects subscribes again"

    def _cancel_retry(self) -> None:
        if self.phase is not Phase.WAITING:
            super()._cancel_retry()


class OrphansConsumer(Consumer):
    """Close while SUBSCRIBE is pending sends the broker nothing."""

    breaks = "subscription.closed-stays-closed"
    stands_for = "pulsar-client-cpp#518: an orphan consumer stays at the broker, with permits"

    def _close_unadmitted(self, connection: Connection) -> None:
        pass


class RefusesToCloseAway(Subscription):
    """Close of a reconnecting consumer fails, and it goes on reconnecting."""

    breaks = "subscription.closed-stays-closed"
    stands_for = "pulsar-flex, consumer/index.js: unsubscribe throws while it reconnects, and the retry is left running"

    def close(self, closed: Callable[[Result], None]) -> None:
        if self._closed or all(consumer.ready for consumer in self.consumers):
            super().close(closed)
        else:
            closed(Failed(ErrorClass.OTHER, "the consumer is not subscribed"))


class PatternSubscribesToAll(TopicPattern):
    """A consumer of a pattern subscribes to every topic of the namespace."""

    breaks = "subscription.pattern-finds-new-topics"
    stands_for = "the broker's answer taken for filtered, whatever it says"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._pattern = f"persistent://{self._namespace}/.*"


class WatcherOutlivesConsumer(TopicPattern):
    """The broker goes on watching topics for a consumer of a pattern that was closed."""

    breaks = "subscription.topic-list-watcher"
    stands_for = "a sibling of apache/pulsar#14284: what a consumer opened by itself is not closed with it"

    def stop(self) -> None:
        self._watched = None
        super().stop()


class FailedListingIsTheLast(TopicPattern):
    """A listing of the topics that fails is the last one."""

    breaks = "subscription.pattern-finds-new-topics"
    stands_for = "a sibling of apache/pulsar#14408: the next listing is scheduled where one succeeds"

    def _looked(self, names: Sequence[str] | Refusal) -> None:
        if not isinstance(names, Refusal):
            super()._looked(names)


class PatternEvaluatedOnce(TopicPattern):
    """The topics of a pattern are listed when the consumer opens, and never again."""

    breaks = ("subscription.pattern-finds-new-topics", "subscription.topic-list-watcher")
    stands_for = "DotPulsar (read in its source): a pattern is resolved once"

    def follow(self, known: Sequence[str], add: Add) -> None:
        pass


class RemovedTopicStopsPattern(TopicPattern):
    """Once a topic that matched is gone, no other one is found."""

    breaks = ("subscription.pattern-finds-new-topics", "subscription.topic-list-watcher")
    stands_for = "apache/pulsar#16839: the handling of the removal never ends, and the next look waits for it"

    _is_stuck = False

    def _looked(self, names: Sequence[str] | Refusal) -> None:
        self._is_stuck = self._is_stuck or not (isinstance(names, Refusal) or self._known <= set(names))
        super()._looked(names)

    def topics_changed(self, frame: Frame) -> None:
        self._is_stuck = self._is_stuck or bool(frame.body.deleted_topics)
        super().topics_changed(frame)

    def _found(self, names: Sequence[str]) -> None:
        if not self._is_stuck:
            super()._found(names)


class IgnoresTopicUpdates(TopicPattern):
    """A pattern consumer never looks for new topics when notified of them."""

    breaks = "subscription.topic-list-watcher"
    stands_for = "C++, Go and pulsar-rs (read in their source): they only poll"

    def _keep_watch(self) -> None:
        pass


class DrainsFirstTopicFirst(Subscription):
    """A consumer of several topics reads the first topic to its end first."""

    breaks = "subscription.no-topic-starves"
    stands_for = "queues looked at in one order, always from the first"

    def _next(self) -> Inbound:
        first = min(self._queue, key=lambda inbound: self.consumers.index(inbound.consumer))
        self._queue.remove(first)
        return first


class AcksOnFirstTopic(Subscription):
    """Messages of all topics are acknowledged on the consumer's first topic."""

    breaks = "subscription.acks-on-source-topic"
    stands_for = "one acknowledgment tracker for all topics, and ids without a topic"

    def _ack_on(self, consumers: Sequence[Consumer], op: int, handed: Sequence[Handed], *, cumulative: bool) -> None:
        super()._ack_on([self.consumers[0]] * len(handed), op, handed, cumulative=cumulative)


class ReaderStartsOver(Consumer):
    """A reader that reconnects starts where it started at first."""

    breaks = "subscription.reader-resumes-after-last-read"
    stands_for = "the configured start id sent with every SUBSCRIBE"

    def _has_read(self, reading: ReadingPlace, inbound: Inbound) -> None:
        pass


class ReaderForgetsBatchIndex(Consumer):
    """A reader remembers only the entry of its last message, and gets the whole batch after a reconnect."""

    breaks = "subscription.reader-resumes-after-last-read"
    stands_for = "Go client (read in its source): a batch message id sent without its batch index"

    def _has_read(self, reading: ReadingPlace, inbound: Inbound) -> None:
        reading.handed_over(inbound.entry.position, None)


class RefusedTakenForConnected(Consumer):
    """A consumer whose reconnect is refused never tries again."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "pulsar-client-cpp#577: the connection is kept after the refusal, so that no further attempt is made"

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if self._opening or refusal.cause is not Cause.SERVER:
            super()._wait(refusal, delay_ns)


class GivesUpAfterThreeRefusals(Consumer):
    """A consumer whose reconnect is refused three times gives up."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "a limit of attempts that is not configured, and an end that is not reported"

    _refusals = 0

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if not self._opening and refusal.cause is Cause.SERVER:
            self._refusals += 1
        if self._refusals < 3:
            super()._wait(refusal, delay_ns)

    def _registered(self, answer: Frame) -> None:
        self._refusals = 0
        super()._registered(answer)


class LostWhileSubscribing(Consumer):
    """A consumer whose connection is lost while its SUBSCRIBE is pending never tries again."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "apache/pulsar#23499, pulsar-client-cpp#438: a loss during a reconnect stops it for good"

    def _again(self, refusal: Refusal) -> None:
        if self.phase is not Phase.REGISTERING or self._opening or refusal.cause is not Cause.LOST:
            super()._again(refusal)


class IdleConsumerStaysAway(Consumer):
    """A consumer that has lost its connection reconnects only when it is received from."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "pulsar-rs (read in its source): the engine notices an ended connection only when it is polled"

    _is_put_off = False

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if self._opening:
            super()._wait(refusal, delay_ns)
            return
        self._is_put_off = True
        self._queue.starved()

    def wanted(self) -> None:
        if self._is_put_off:
            self._is_put_off = False
            self._seek(None)
        super().wanted()


class ClosedBesideOthersStaysAway(Consumer):
    """A consumer that the broker closes does not reconnect while its connection serves another one."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "a reconnect that is started only by the end of a connection"

    def closed_by_broker(self, assigned_url: str | None) -> None:
        others = self.connection is not None and set(self.connection.consumers.values()) - {self}
        if others:
            self._detach()
            self.phase = Phase.WAITING
        else:
            super().closed_by_broker(assigned_url)


class GivesUpUnreported(Subscription):
    """A consumer that is refused for good lets its receives wait for ever."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "pulsar-client-go#1490: a consumer that has stopped reconnecting, and whose receive never returns"

    def given_up(self, failed: Failed) -> None:
        pass


class StateListenerMissesTheEnd(Subscription):
    """A state listener is not called when its consumer becomes inactive."""

    breaks = "subscription.state-listener-follows-broker"
    stands_for = "a listener of which only becameActive is called"

    def active_changed(self, partition: int, active: bool) -> None:
        if active:
            super().active_changed(partition, active)


class StateListenerSwapsPartitions(Subscription):
    """A state listener is called with the number of another partition."""

    breaks = "subscription.state-listener-follows-broker"
    stands_for = "the position of a partition in a map taken for its number"

    def active_changed(self, partition: int, active: bool) -> None:
        super().active_changed(len(self.consumers) - 1 - partition if partition >= 0 else partition, active)


class ReaderIsDurable(Consumer):
    """A reader subscribes with a durable subscription."""

    breaks = "subscription.reader-is-not-durable"
    stands_for = "pulsar-rs#324: a reader is a consumer, and its subscription stays with its backlog"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.subscribe.durable = True
        return built


class InitialPositionNotPassedOn(Consumer):
    """SUBSCRIBE carries no initial position, whatever the application chose."""

    breaks = "subscription.asks-for-its-position"
    stands_for = "pulsar-flex (read in its source): an option that is accepted and not written into SUBSCRIBE"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.subscribe.ClearField("initialPosition")
        return built


class MissedTopicsNotAskedFor(TopicPattern):
    """Topics created while the topic watcher had no connection are never found."""

    breaks = "subscription.pattern-finds-new-topics"
    stands_for = "apache/pulsar#21852: a watcher that reconnects learns only of later changes"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._reads_updates = True

    def connection_lost(self) -> None:
        self._reads_updates = False
        super().connection_lost()

    def topics_changed(self, frame: Frame) -> None:
        self._reads_updates = True
        super().topics_changed(frame)
        self._reads_updates = False

    def _found(self, names: Sequence[str]) -> None:
        if self._reads_updates:
            super()._found(names)


class RefusedTopicLeftOut(Consumer):
    """A consumer of several topics goes on without the one whose broker refuses it when it comes back."""

    breaks = "subscription.keeps-reconnecting"
    stands_for = "pulsar-rs#384: a topic whose consumer has failed is taken out of the consumer of several"

    def _again(self, refusal: Refusal) -> None:
        several = len(getattr(self._queue, "consumers", ())) > 1
        if several and not self._opening and refusal.cause is Cause.SERVER:
            self._forget()
            self._stop()
        else:
            super()._again(refusal)
