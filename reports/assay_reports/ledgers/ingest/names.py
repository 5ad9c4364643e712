"""The numbers of a run: every name that segments declare, as a row of a small table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from assay_conformance.ledger import rows
from assay_conformance.ledger.declarations import (
    ClockDeclared,
    ConsumerDeclared,
    ConsumerLeft,
    Declaration,
    EpochDeclared,
    KeyDeclared,
    ProcessEnded,
    StreamDeclared,
    SubscriptionDeclared,
    TopicDeclared,
)
from assay_conformance.ledger.tables import ANY_HELD, NONE


class Clock:
    """A writer's clock. What the bench measured counts; else the wall's clock, whose error is unknown."""

    def __init__(self, offset_us: int, error_us: int) -> None:
        self.offset_us = offset_us
        self.error_us = error_us


class WriterState(NamedTuple):
    """Of the files of a writer: bytes dropped, whether it ended them, whether blocks inside were broken, and whether
    it is unknown whose rows were in those."""

    dropped: int = 0
    closed: bool = True
    broken: bool = False
    nameless: bool = False


UNKNOWN = "unknown"
"""Producer and topic of an undeclared stream."""


class Names:
    """Grows as declarations are read. `numbers` of keys and consumers are a file's own; ours are the run's."""

    def __init__(self, started_unix_ms: int) -> None:
        self._started_us = started_unix_ms * 1000
        self.streams: dict[int, StreamDeclared] = {}
        self.clocks: dict[str, Clock] = {}
        self._hosts: dict[str, Clock] = {}
        self._host_of: dict[str, str] = {}
        self.writer_of_stream: dict[int, str] = {}
        self._topics: dict[str, int] = {}
        self._declared_topics: dict[str, TopicDeclared] = {}
        self._keys: dict[str, int] = {}
        self._subscriptions: dict[str, int] = {}
        self._declared_subscriptions: dict[str, SubscriptionDeclared] = {}
        self._consumers: dict[tuple[str, str, str, int], int] = {}
        self._left: dict[int, int] = {}
        self._ended: dict[str, int] = {}
        self._killed: set[str] = set()
        self._spoken_of: set[int] = set()
        self._consumer_rows: dict[int, tuple[int, str, str, int]] = {}
        self._epochs: dict[int, tuple[str, EpochDeclared]] = {}
        self._writers: dict[str, int] = {}
        self.changed = True

    def writer(self, name: str, host: str) -> int:
        self._host_of[name] = host
        return self._writers.setdefault(name, len(self._writers))

    def declare(self, writer: str, numbers: Numbers, one: Declaration) -> None:
        """Take in what `writer` declares in a file whose own numbers are `numbers`."""
        self.changed = True
        match one:
            case StreamDeclared():
                self.streams[one.stream] = one
                self.writer_of_stream[one.stream] = writer
                self.topic(one.topic)
            case KeyDeclared():
                numbers.keys[one.key] = self._keys.setdefault(one.text, len(self._keys))
            case ConsumerDeclared():
                self._consumer(writer, numbers, one)
            case ConsumerLeft():
                self._left[numbers.consumers.get(one.consumer, NONE)] = self.run_time(writer, one.t)
            case ProcessEnded():
                self._ended[one.writer] = self.run_time(writer, one.t)
                if one.killed:
                    self._killed.add(one.writer)
            case TopicDeclared():
                self._declared_topics[one.topic] = one
                self.topic(one.topic)
            case SubscriptionDeclared():
                self._declared_subscriptions[one.subscription] = one
                self.subscription(one.subscription)
            case EpochDeclared():
                self._epochs[one.epoch] = (writer, one)
            case ClockDeclared():
                self._clock(one)

    def sampled(self, writer: str, mono_us: int, unix_us: int) -> None:
        """Take in a clock sample: it counts where the bench has said nothing of this clock."""
        if writer in self.clocks:
            return
        shared = self._hosts.get(self._host_of.get(writer, ""))
        if shared is not None and self._host_of[writer]:
            self.clocks[writer] = shared
        else:
            self.clocks[writer] = Clock(mono_us - (unix_us - self._started_us), NONE)

    def run_time(self, writer: str, t: int) -> int:
        """Return a writer's time in µs of the run's clock; 0, the beginning, where none of its clock samples can be
        read."""
        return t - self.clocks[writer].offset_us if writer in self.clocks else 0

    def was_killed(self, writer: str) -> bool:
        return writer in self._killed

    def owns(self, writer: str) -> bool:
        """Return whether a stream or consumer is this writer's own; if none is, its rows may be about any."""
        consumers = (one[2] for one in self._consumer_rows.values())
        return writer in self.writer_of_stream.values() or writer in consumers

    def speak_of(self, streams: Iterable[int]) -> None:
        """Take note that there are rows of these streams."""
        self._spoken_of.update(streams)

    def unnamed(self) -> list[int]:
        """Return the streams that have rows and no declaration, sorted."""
        return sorted(self._spoken_of - self.streams.keys())

    def notes(self) -> list[str]:
        """Return a sentence about the streams that have rows and no declaration, if there are any."""
        streams = self.unnamed()
        named = ", ".join(map(str, streams[:5])) + (f" and {len(streams) - 5} more" if len(streams) > 5 else "")
        return [f"there are rows of undeclared streams: {named}"] if streams else []

    def topic(self, name: str) -> int:
        return self._topics.setdefault(name, len(self._topics))

    def topic_of(self, stream: int) -> int:
        declared = self.streams.get(stream)
        return NONE if declared is None else self.topic(declared.topic)

    def subscription(self, name: str) -> int:
        return self._subscriptions.setdefault(name, len(self._subscriptions))

    def sub_of(self, consumer: int) -> int:
        return self._consumer_rows[consumer][0] if consumer in self._consumer_rows else NONE

    def _consumer(self, writer: str, numbers: Numbers, one: ConsumerDeclared) -> None:
        who = (writer, one.subscription, one.name, one.t)
        number = self._consumers.setdefault(who, len(self._consumers))
        numbers.consumers[one.consumer] = number
        self._consumer_rows[number] = (self.subscription(one.subscription), one.name, writer, one.t)

    def _clock(self, one: ClockDeclared) -> None:
        clock = Clock(one.offset_us, one.error_us)
        self.clocks[one.writer] = clock
        if host := self._host_of.get(one.writer, ""):
            self._hosts.setdefault(host, clock)

    def tables(
        self, writers: dict[str, WriterState], skewed: set[int], final: bool
    ) -> dict[str, list[tuple[Any, ...]]]:
        """Return the small tables. `skewed`: writers whose clock turned out wrong; `final`: who was not named by now
        will not be."""
        nameless = any(state.nameless or (state.broken and not self.owns(name)) for name, state in writers.items())
        unnamed = self.unnamed() if nameless or final else []
        return {
            "stream": [
                *(self._stream_row(number, one) for number, one in sorted(self.streams.items())),
                *(rows.Stream(number, UNKNOWN, self.topic(UNKNOWN), NONE) for number in unnamed),
            ],
            "topic": [self._topic_row(name, number) for name, number in self._topics.items()],
            "key": [rows.Key(number, text) for text, number in self._keys.items()],
            "subscription": [self._subscription_row(name, number) for name, number in self._subscriptions.items()],
            "consumer": [
                rows.Consumer(
                    number,
                    sub,
                    name,
                    self._writers[writer],
                    self.run_time(writer, t),
                    self._left.get(number, self._ended.get(writer)),
                )
                for number, (sub, name, writer, t) in self._consumer_rows.items()
            ],
            "writer": [
                *(
                    self._writer_row(name, number, writers.get(name, WriterState()), number in skewed)
                    for name, number in self._writers.items()
                ),
                *([rows.Writer(NONE, UNKNOWN, clock_error=NONE, held=ANY_HELD)] if nameless or unnamed else []),
            ],
            "epoch": [self._epoch_row(writer, one) for _, (writer, one) in sorted(self._epochs.items())],
        }

    def _stream_row(self, number: int, one: StreamDeclared) -> rows.Stream:
        writer = self._writers[self.writer_of_stream[number]]
        return rows.Stream(number, one.producer, self.topic(one.topic), writer)

    def _topic_row(self, name: str, number: int) -> rows.Topic:
        one = self._declared_topics.get(name, TopicDeclared(topic=name))
        return rows.Topic(number, name, int(one.dedup), one.publish_rate, int(one.read_back))

    def _subscription_row(self, name: str, number: int) -> rows.Subscription:
        one = self._declared_subscriptions.get(name)
        if one is None:
            # It was not declared what its subscription guarantees.
            return rows.Subscription(number, name, type="Shared", whole=0)
        return rows.Subscription(
            number,
            name,
            type=one.type,
            whole=int(one.whole),
            nack_delay=one.nack_delay,
            dispatch_rate=one.dispatch_rate,
            max_redeliv=one.max_redeliv,
        )

    def _writer_row(self, name: str, number: int, state: WriterState, skewed: bool) -> rows.Writer:
        clock = self.clocks.get(name, Clock(0, NONE))
        error_us = NONE if skewed else clock.error_us
        row = rows.Writer(number, name, clock.offset_us, error_us, state.dropped, int(state.closed))
        return row._replace(held=ANY_HELD) if state.broken else row

    def _epoch_row(self, writer: str, one: EpochDeclared) -> rows.Epoch:
        t_to = None if one.t_to is None else self.run_time(writer, one.t_to)
        sub = self._subscriptions.get(one.subscription, NONE)
        t_from = self.run_time(writer, one.t_from)
        return rows.Epoch(one.epoch, one.action, one.target, t_from, t_to, one.restart, sub, one.in_flight)


class Numbers:
    """A file's own numbers of keys and consumers -> the run's."""

    def __init__(self) -> None:
        self.keys: dict[int, int] = {NONE: NONE}
        self.consumers: dict[int, int] = {}
