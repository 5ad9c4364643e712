"""A consumer's calls, and a reader's."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pulsar

from assay_reports.export.runtime.calls import CALLS, Call, Handle


class WithoutQueue:
    """A consumer without a queue cannot be asked with a time-out, so what was asked for is waited for over calls."""

    def __init__(self, consumer: Any) -> None:
        self.consumer, self.arriving = consumer, queue.Queue[Any]()
        self.is_asked = False

    def receive(self, timeout_ms: int) -> Any:
        if not self.is_asked:
            threading.Thread(target=lambda: self.arriving.put(self.consumer.receive()), daemon=True).start()
        self.is_asked = True
        try:
            message = self.arriving.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            raise pulsar.Timeout from None
        self.is_asked = False
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self.consumer, name)


def open_consumer(client: Handle, topics: Any, subscription: str, **options: Any) -> Handle:
    return Handle("subscribe", lambda: client.object.subscribe(topics, subscription, **options), options)


def open_consumer_without_queue(client: Handle, topics: Any, subscription: str, **options: Any) -> Handle:
    def make() -> WithoutQueue:
        return WithoutQueue(client.object.subscribe(topics, subscription, **options))

    return Handle("subscribe", make, options)


def open_reader(client: Handle, topic: str, start: Any, **options: Any) -> Handle:
    def make() -> Any:
        reader = client.object.create_reader(topic, start, **options)
        reader.receive = reader.read_next
        return reader

    return Handle("create_reader", make, options)


def receive(consumer: Handle, count: int, timeout_ms: int) -> Call:
    """Receive messages until there are so many, or the time is up."""

    def job() -> int:
        over = time.monotonic() + timeout_ms / 1000
        for got in range(count):
            left_ms = max(1, round((over - time.monotonic()) * 1000))
            try:
                consumer.messages.append(consumer.object.receive(left_ms))
            except pulsar.Timeout:
                return got
        return count

    return consumer.call("receive", job, count=count)


def redeliver_everything(consumer: Handle) -> Call:
    return consumer.call("redeliver_everything", lambda: consumer.object.redeliver_unacknowledged_messages())


def has_message_available(consumer: Handle) -> Call:
    return consumer.call("has_message_available", lambda: consumer.object.has_message_available())


def last_message_id(consumer: Handle) -> Call:
    return consumer.call("last_message_id", lambda: consumer.object.get_last_message_id())


def received(*places: int) -> Callable[[Handle], list[int]]:
    """Choose messages by their place among those that the consumer has received, from 1."""
    return lambda consumer: [place - 1 for place in places if place <= len(consumer.messages)]


def numbered(*numbers: int) -> Callable[[Handle], list[int]]:
    """Choose messages by the number that their producer gave them; of each, the copy that came last."""

    def choose(consumer: Handle) -> list[int]:
        long = [(at, one.data()) for at, one in enumerate(consumer.messages) if len(one.data()) >= 16]
        latest = {int.from_bytes(data[8:16], "big"): at for at, data in long}
        return [latest[number] for number in numbers if number in latest]

    return choose


def unacknowledged() -> Callable[[Handle], list[int]]:
    """Choose all messages that the consumer has received and not acknowledged."""

    def choose(consumer: Handle) -> list[int]:
        calls = [one for one in CALLS if one.handle is consumer and one.what.startswith("acknowledge")]
        done = {at for one in calls for at in one.result or ()}
        return [at for at in range(len(consumer.messages)) if at not in done]

    return choose


def settle(consumer: Handle, what: str, choice: Callable[[Handle], list[int]]) -> Call:
    def job() -> list[int]:
        chosen = choice(consumer)
        for at in chosen:
            getattr(consumer.object, what)(consumer.messages[at])
        return chosen

    return consumer.call(what, job)


def acknowledge(consumer: Handle, choice: Callable[[Handle], list[int]]) -> Call:
    return settle(consumer, "acknowledge", choice)


def acknowledge_cumulative(consumer: Handle, choice: Callable[[Handle], list[int]]) -> Call:
    return settle(consumer, "acknowledge_cumulative", choice)


def negative_acknowledge(consumer: Handle, choice: Callable[[Handle], list[int]]) -> Call:
    return settle(consumer, "negative_acknowledge", choice)


def seek_to_message(consumer: Handle, place: int) -> Call:
    """Seek to a message by its place among those that the consumer has received, from 1."""

    def job() -> tuple[int, list[int]]:
        id = consumer.messages[place - 1].message_id()
        consumer.object.seek(id)
        return len(consumer.messages), [id.ledger_id(), id.entry_id()]

    return consumer.call("seek", job)


def seek_to_time(consumer: Handle, publish_time_ms: int) -> Call:
    def job() -> tuple[int, int]:
        consumer.object.seek(publish_time_ms)
        return len(consumer.messages), publish_time_ms

    return consumer.call("seek", job)
