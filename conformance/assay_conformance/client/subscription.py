"""A consumer as the application sees it: one queue over its topics and partitions, and deliveries by number."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from assay_conformance.client.all_of import AllOf
from assay_conformance.client.batch_receive import BatchLimits
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.growth import Growth
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.letters import Letters
from assay_conformance.client.listening import Listening
from assay_conformance.client.lookup import Lookup, Pool, parts_of
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.seeking import Place
from assay_conformance.client.settings import ConsumerSettings, InitialPosition
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.client.topic_patterns import TopicPattern
from assay_conformance.client.values import Delivery, Done, Failed, Result
from assay_conformance.model.event import ErrorClass, MessageId

StateListener = Callable[[int, bool], None]
"""Code of the application: of a partition, -1 for a topic without any, whether its consumer is the active one."""


class Receive:
    """`count` is None for a batch, which is delivered at its end."""

    __slots__ = ("count", "got", "op", "timer")

    def __init__(self, op: int, count: int | None) -> None:
        self.op = op
        self.count = count
        self.got = 0
        self.timer: Timer | None = None


class Subscription:
    """Deliveries are counted from 1; acknowledgments name them by that.

    `counts` are topics with their partitions, 0 for one that has none. `opened` is called once, when all of them are
    subscribed or one has failed.
    """

    def __init__(
        self,
        shared: Shared,
        pool: Pool,
        lookup: Lookup,
        handle: int,
        counts: Mapping[str, int],
        name: str,
        settings: ConsumerSettings,
        opened: Callable[[Result], None],
    ) -> None:
        parts = [part for topic, count in counts.items() for part in parts_of(topic, range(count))]
        self._shared = shared
        self._pool = pool
        self._lookup = lookup
        self._name = name
        self._handle = handle
        self._settings = settings
        self._queue: deque[Inbound] = deque()
        self._receives: deque[Receive] = deque()
        self._handed: list[Handed] = []
        self._closed = False
        self._given_up: Failed | None = None
        """What the last of its consumers was refused with, when it has none left."""
        self._paused = False
        self._listening: Listening | None = None
        self._states: StateListener | None = None
        self._batch_limits = shared.implementation(BatchLimits)(settings)
        self._opened = opened
        self._topics = list(counts)
        self._pattern: TopicPattern | None = None
        self._letters: Letters | None = None
        if counts and (settings.max_redeliver_count or settings.retry_letters):
            made = shared.implementation(Letters)
            self._letters = made(shared, pool, lookup, next(iter(counts)), name, settings)
        self.consumers = self._new(parts, settings, self._all_subscribed)
        self._growths = [self._growth(topic, count) for topic, count in counts.items()]

    def start(self, pattern: TopicPattern | None = None) -> None:
        """Subscribe all consumers. `pattern`: the one that selects the topics, if there is one."""
        if not self.consumers:
            self._opened(Done())
        for consumer in self.consumers:
            consumer.start()
        if pattern is not None:
            self._pattern = pattern
            pattern.follow(self._topics, self._add_topic)

    def listen(self) -> None:
        """Hand messages over by calls of a handler, from now on."""
        made = self._shared.implementation(Listening)
        self._listening = made(self._shared.handler_threads.next(), self._taken, self._hand_over)

    def report_states(self, states: StateListener) -> None:
        """Call the application with each change of the active consumer, from now on."""
        self._states = states

    def begin_at(self, id: MessageId) -> None:
        """Begin after this message, or with it: of a reader, before it starts."""
        index = id.batch_index if id.batch_index >= 0 else None
        for consumer in self.consumers:
            consumer.begin_at(Place((id.position,), index, id.batch_size))

    # --- from the application ---

    def handler_returned(self, *, raised: bool) -> None:
        """Note that a call of the handler ended."""
        if self._listening is not None:
            self._listening.returned(raised=raised)
            self.starved()

    def batch_receive(self, op: int) -> None:
        """Hand over what the limits of this consumer allow, when there is so much or the time is over."""
        if (over := self._over) is not None:
            self._shared.sink.completed(op, over)
        elif self._listening is not None or not self._settings.receiver_queue_size:
            self._shared.sink.completed(op, _NO_BATCH)
        else:
            batch = Receive(op, None)
            self._receives.append(batch)
            if self._batch_limits.timeout_ms:
                batch.timer = self._shared.after(self._batch_limits.timeout_ms * MS, lambda: self._end_batch(batch))
            self._serve()

    def receive(self, op: int, count: int, timeout_ms: int) -> None:
        """Hand over up to `count` messages, and end with how many when they are there or the time is over."""
        if (over := self._over) is not None:
            self._shared.sink.completed(op, over)
            return
        receive = Receive(op, count)
        self._receives.append(receive)
        self._serve()
        if receive.got < count:
            receive.timer = self._shared.after(timeout_ms * MS, lambda: self._give_up(receive))

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        """Acknowledge deliveries of `of`; those of topics that this subscription does not consume are refused."""
        handed = of._named(op, numbers)
        if handed is None:
            return
        if of is not self:
            self._ack_of_others(op, handed, cumulative=cumulative)
            return
        if cumulative and not self._takes_cumulative:
            text = f"no cumulative acknowledgment on a {self._settings.subscription_type} subscription"
            self._shared.sink.completed(op, Failed(ErrorClass.INVALID_CONFIG, text, certain=True))
            return
        self._ack_on([each.consumer for each in handed], op, handed, cumulative=cumulative)

    @property
    def _takes_cumulative(self) -> bool:
        return not self._settings.individual_redelivery

    def _ack_on(self, consumers: Sequence[Consumer], op: int, handed: Sequence[Handed], *, cumulative: bool) -> None:
        """Acknowledge each delivery at the consumer of its topic."""
        for each, consumer in zip(handed, consumers, strict=True):
            consumer.ack(each, cumulative=cumulative)
        together = AllOf(len(set(consumers)), partial(self._shared.sink.completed, op))
        for consumer in dict.fromkeys(consumers):
            consumer.acked(together.one, cumulative=cumulative)

    def nack(self, op: int, numbers: Sequence[int]) -> None:
        handed = self._named(op, numbers)
        if handed is None:
            return
        for each in handed:
            each.consumer.nack(each)
        self._shared.sink.completed(op, Done())

    def redeliver_all(self, op: int) -> None:
        """Request all that is unacknowledged, on each topic that is subscribed; elsewhere it comes by itself."""
        if self._closed:
            self._shared.sink.completed(op, _CLOSED)
            return
        for consumer in self.consumers:
            consumer.redeliver_all()
        self._shared.sink.completed(op, Done())

    def value(self, op: int, numbers: Sequence[int]) -> None:
        """Read the values of deliveries; the operation ends when all can be read, or with the first that cannot."""
        handed = self._named(op, numbers)
        if handed is None:
            return
        together = AllOf(len(handed), partial(self._shared.sink.completed, op))
        for each in handed:
            each.consumer.value(each, together.one)

    def reconsume_later(self, op: int, numbers: Sequence[int], delay_ms: int) -> None:
        """Send copies of deliveries to the retry letter topic; the operation ends when all are stored or one failed."""
        handed = self._named(op, numbers)
        if handed is None:
            return
        if not self._settings.retry_letters:
            text = "this subscription has no retry letter topic"
            self._shared.sink.completed(op, Failed(ErrorClass.INVALID_CONFIG, text, certain=True))
            return
        together = AllOf(len(handed), partial(self._shared.sink.completed, op))
        for each in handed:
            each.consumer.reconsume_later(each, delay_ms, together.one)

    def seek(self, op: int, message_id: MessageId | None, publish_time_ms: int | None) -> None:
        """Seek after a message of this consumer's partition or topic; or, in all of them, to a publish time."""
        if self._closed:
            self._shared.sink.completed(op, _CLOSED)
            return
        completed = partial(self._shared.sink.completed, op)
        if message_id is None:
            together = AllOf.any_number(len(self.consumers), completed)
            for consumer in self.consumers:
                consumer.seek(Place(publish_time_ms=publish_time_ms or 0), together.one)
            return
        found = [consumer for consumer in self.consumers if consumer.partition == message_id.partition]
        if len(found) != 1:
            text = "a message id says where to seek on one topic only"
            completed(Failed(ErrorClass.INVALID_CONFIG, text, certain=True))
            return
        found[0].seek(self._place(found[0], message_id), completed)

    def has_message_available(self, op: int) -> None:
        def answered(available: bool, result: Result) -> None:
            self._shared.sink.completed(
                op, Done(values={"available": available}) if isinstance(result, Done) else result
            )

        if self._closed:
            self._shared.sink.completed(op, _CLOSED)
            return
        if self._queue:
            answered(True, Done())
            return
        found: list[bool] = []
        together = AllOf.any_number(len(self.consumers), lambda result: answered(any(found), result))

        def one(answer: bool | Failed) -> None:
            if isinstance(answer, Failed):
                together.one(answer)
            else:
                found.append(answer)
                together.one(Done())

        for consumer in self.consumers:
            consumer.has_more(one)

    def last_message_id(self, op: int) -> None:
        completed = partial(self._shared.sink.completed, op)
        if self._closed:
            completed(_CLOSED)
        elif len(self.consumers) != 1:
            completed(Failed(ErrorClass.INVALID_CONFIG, "only one topic has a last message", certain=True))
        else:
            self.consumers[0].last_message_id(completed)

    def _place(self, consumer: Consumer, id: MessageId) -> Place:
        """Return the place of a message. The first chunk of a chunked one is known only from its delivery."""
        handed = [each.entry.positions for each in self._handed if each.consumer is consumer]
        positions = next((its for its in handed if its[-1] == id.position), (id.position,))
        index = id.batch_index if id.batch_index >= 0 else None
        return Place(positions, index, id.batch_size)

    def pause(self, op: int) -> None:
        self._paused = True
        for consumer in self.consumers:
            consumer.pause()
        self._shared.sink.completed(op, Done())

    def resume(self, op: int) -> None:
        self._paused = False
        for consumer in self.consumers:
            consumer.resume()
        self._shared.sink.completed(op, Done())

    def close(self, closed: Callable[[Result], None]) -> None:
        self._leave()
        if self._letters is not None:
            self._letters.close()
        together = AllOf.any_number(len(self.consumers), closed)
        for consumer in self.consumers:
            consumer.close(together.one)

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        self._leave()
        together = AllOf.any_number(len(self.consumers), unsubscribed)
        for consumer in self.consumers:
            consumer.unsubscribe(together.one)

    # --- Queue: from the consumers ---

    def arrived(self, inbound: Inbound) -> None:
        self._queue.append(inbound)
        self._serve()

    def active_changed(self, partition: int, active: bool) -> None:
        if self._states is not None and not self._closed:
            self._states(partition, active)

    def withdraw(self, consumer: Consumer) -> int:
        before = len(self._queue)
        self._queue = deque(inbound for inbound in self._queue if inbound.consumer is not consumer)
        return before - len(self._queue)

    def starved(self) -> None:
        waits = self._receives or (self._listening is not None and self._listening.wants)
        if waits and not self._queue:
            for consumer in self.consumers:
                consumer.wanted()

    def given_up(self, failed: Failed) -> None:
        if all(consumer.closed for consumer in self.consumers) and not self._closed:
            self._given_up = failed
            self._end_receives()

    # --- inside ---

    @property
    def _over(self) -> Failed | None:
        """Why nothing can be received any more."""
        return _CLOSED if self._closed else self._given_up

    def _all_subscribed(self, result: Result) -> None:
        """End the opening: every topic and partition is subscribed, or one of them has failed."""
        self._opened(result)

    def _new(
        self, parts: Sequence[tuple[str, int]], settings: ConsumerSettings, opened: Callable[[Result], None]
    ) -> list[Consumer]:
        together = AllOf(len(parts), opened)
        return [
            self._shared.implementation(Consumer)(
                self._shared,
                self._pool,
                self._lookup,
                topic,
                self._name,
                settings,
                self,
                together.one,
                partition,
                self._letters,
            )
            for topic, partition in parts
        ]

    def _growth(self, topic: str, partitions: int) -> Growth:
        made, interval_ms = self._shared.implementation(Growth), self._settings.partitions_update_ms
        return made(self._shared, self._lookup, topic, interval_ms, partitions, partial(self._widen, topic))

    def _widen(self, topic: str, partitions: range, answered: Callable[[bool], None]) -> None:
        """Subscribe to new partitions from the beginning: they were filled after this consumer was opened."""

        def opened(result: Result) -> None:
            wanted = isinstance(result, Done) and not self._closed
            if wanted:
                self._join(added)
            else:
                for consumer in added:
                    consumer.close(lambda _result: None)
            answered(wanted)

        settings = msgspec.structs.replace(self._settings, initial_position=InitialPosition.EARLIEST)
        added = self._new(parts_of(topic, partitions), settings, opened)
        for consumer in added:
            if self._paused:
                consumer.pause()
            consumer.start()

    def _join(self, added: Sequence[Consumer]) -> None:
        """Add the consumers of topics or partitions that were found later; the application may have paused or resumed
        all while they subscribed."""
        self.consumers.extend(added)
        for consumer in added:
            if self._paused:
                consumer.pause()
            else:
                consumer.resume()

    def _add_topic(self, topic: str, answered: Callable[[bool], None]) -> None:
        """Subscribe to a topic that was created later and matches the pattern."""

        def counted(partitions: int | Refusal) -> None:
            if isinstance(partitions, Refusal) or self._closed:
                answered(False)
                return
            self._growths.append(self._growth(topic, partitions))
            self._widen(topic, range(partitions), answered)

        self._lookup.partitions(topic, counted)

    def _ack_of_others(self, op: int, handed: Sequence[Handed], *, cumulative: bool) -> None:
        """Acknowledge deliveries of another subscription, at our own consumers of the topics that the ids name."""
        own = self._consumers_for(handed)
        foreign = [each.consumer.topic for each in handed if each.consumer.topic not in own]
        if foreign:
            self._refuse_foreign(op, foreign[0], cumulative=cumulative)
        else:
            self._ack_on([own[each.consumer.topic] for each in handed], op, handed, cumulative=cumulative)

    def _consumers_for(self, handed: Sequence[Handed]) -> dict[str, Consumer]:
        """Return, by topic, which of our consumers can acknowledge there."""
        del handed
        return {consumer.topic: consumer for consumer in self.consumers}

    def _refuse_foreign(self, op: int, topic: str, *, cumulative: bool) -> None:
        del cumulative
        text = f"{topic} is none of this consumer's topics"
        self._shared.sink.completed(op, Failed(ErrorClass.INVALID_CONFIG, text, certain=True))

    def _leave(self) -> None:
        self._closed = True
        if self._pattern is not None:
            self._pattern.stop()
        for growth in self._growths:
            growth.stop()
        if self._listening is not None:
            self._listening.stop()
        self._end_receives()

    def _serve(self) -> None:
        if self._listening is not None:
            self._listening.arrived()
        while self._receives and self._queue:
            receive = self._receives[0]
            if receive.count is None:
                if not self._batch_limits.is_enough(self._queue):
                    break
                self._end_batch(receive)
                continue
            self._hand_over(self._next())
            receive.got += 1
            if receive.got == receive.count:
                self._end(receive)
        self.starved()

    def _end_batch(self, batch: Receive) -> None:
        for _ in range(self._batch_limits.take(self._queue) if batch is self._receives[0] else 0):
            self._hand_over(self._next())
            batch.got += 1
        self._end(batch)

    def _taken(self) -> Inbound | None:
        return self._next() if self._queue else None

    def _next(self) -> Inbound:
        return self._queue.popleft()

    def _hand_over(self, inbound: Inbound) -> None:
        self._handed.append(inbound.consumer.handed_over(inbound))
        self._shared.sink.delivered(self._handle, self._delivery(len(self._handed), inbound))

    def _delivery(self, number: int, inbound: Inbound) -> Delivery:
        opened, metadata, entry = inbound.opened, inbound.metadata, inbound.entry
        place = (-1, 0) if opened.index is None else (opened.index, entry.size)
        return Delivery(
            number=number,
            message_id=MessageId(*entry.position, inbound.consumer.partition, *place),
            payload=opened.payload,
            topic=inbound.consumer.topic,
            producer_name=metadata.producer_name,
            sequence_id=opened.sequence_id,
            redelivery_count=inbound.redelivery_count,
            publish_time_ms=metadata.publish_time,
            event_time_ms=opened.event_time_ms,
            key=opened.key,
            properties=opened.properties,
        )

    def _give_up(self, receive: Receive) -> None:
        if receive in self._receives:
            self._end(receive)

    def _end(self, receive: Receive) -> None:
        self._receives.remove(receive)
        if receive.timer is not None:
            receive.timer.cancel()
        given_up = None if receive.got else self._given_up
        self._shared.sink.completed(receive.op, given_up or Done(count=receive.got))

    def _end_receives(self) -> None:
        for receive in list(self._receives):
            self._end(receive)

    def _named(self, op: int, numbers: Sequence[int]) -> list[Handed] | None:
        """Return the deliveries with these numbers. If there is nothing to do, end the operation and return None."""
        if self._closed:
            self._shared.sink.completed(op, _CLOSED)
            return None
        unknown = [number for number in numbers if number > len(self._handed)]
        if unknown:
            text = f"delivery {unknown[0]} was asked for, {len(self._handed)} were made"
            self._shared.sink.completed(op, Failed(ErrorClass.OTHER, text, certain=True))
            return None
        if not numbers:
            self._shared.sink.completed(op, Done())
            return None
        return [self._handed[number - 1] for number in numbers]


_CLOSED = Failed(ErrorClass.CLOSED, "the consumer is closed", certain=True)
_NO_BATCH = Failed(
    ErrorClass.INVALID_CONFIG, "no batch receive with a listener, or without a queue to fill", certain=True
)
