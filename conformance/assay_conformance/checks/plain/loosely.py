"""Going along with what is not plain, until nothing is under way again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from assay_conformance.checks.plain.standing import Consumer, Log, Message, Producer, Reading, Standing, Writing
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.case import Case
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import (
    Began,
    Closed,
    Completion,
    Event,
    Frame,
    Invoke,
    Outcome,
    Position,
    Received,
    Stored,
)
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.topic_names import named_topics, renamed
from assay_conformance.pulsar.checks.connection._versions import SEVERAL_IDS_SINCE

_TO_CLIENT: Final = Direction.TO_CLIENT
_OPENING_ARGS: Final = frozenset({"client", "config", "subscription", "topic", "topics"})
_OPENINGS: Final = frozenset({"open_client", "open_consumer", "open_producer"})
_NONE: Final = -1
_NOWHERE: Final = (-1, -1)


class Loosely:
    """`is_unfit`: the history has a consumer of which no stretch is plain: a second one of a topic, or one that is sent
    batches. Or an entry is named after one that it lies before in its log."""

    def __init__(self, standing: Standing, case: Case, facts: ClientFacts) -> None:
        self._standing = standing
        self._case = case
        self._facts = facts
        self._open: set[int] = set()
        self._received_as: dict[tuple[int, int], Position] = {}
        """Consumer and delivery -> the entry."""
        self._clients: dict[int, object] = {}
        """Producer or consumer -> the client that it was opened with."""
        self._acks: dict[int, tuple[Consumer, dict[Position, Message]]] = {}
        """Ack operation -> what it names, as far as no ACK has."""
        self.is_unfit = False
        self._kinds: dict[type, Callable[[Any], None]] = {
            Began: self._began,
            Invoke: self._invoke,
            Completion: self._completion,
            Received: self._received,
            Stored: self._stored,
            Frame: self._frame,
            Closed: self._closed,
        }
        self._frames: dict[str, Callable[[Frame], None]] = {
            "CONNECT": self._connects,
            "CONNECTED": self._connected,
            "PRODUCER": self._producer,
            "SUBSCRIBE": self._subscribe,
            "SEND": self._send,
            **dict.fromkeys(("SEND_RECEIPT", "SEND_ERROR"), self._answered),
            "FLOW": self._flow,
            "MESSAGE": self._message,
            "ACK": self._ack,
            **dict.fromkeys(("CLOSE_PRODUCER", "CLOSE_CONSUMER", "UNSUBSCRIBE"), self._session_ended),
        }

    def take_over(self) -> None:
        """A plain stretch is over: what was under way in it is now."""
        standing = self._standing
        self._open = set(standing.calls)
        standing.calls.clear()
        for producer in standing.producers.values():
            self._open.update(message.op for message in producer.open)
            producer.open.clear()
            producer.asked.clear()
        for writing in standing.writings.values():
            writing.unanswered.update(message.sequence_id for message in writing.waiting)
            writing.waiting.clear()
        for log in standing.logs.values():
            log.to_store.clear()
            log.unsettled.update(_unsettled(log))
            log.to_dispatch.clear()
        self._received_as.clear()
        self._acks.clear()
        for handle, consumer in standing.consumers.items():
            for delivery, message in consumer.held.items():
                self._received_as[handle, delivery] = message.position or _NOWHERE
            consumer.acking = {place: message for place, message in consumer.acking.items() if message.called}
            consumer.handed.clear()
            consumer.held.clear()
            consumer.full_ns = None

    def see(self, event: Event) -> None:
        handler = self._kinds.get(type(event))
        if handler is not None:
            handler(event)

    @property
    def is_still(self) -> bool:
        """Nothing is under way any more but acknowledgments that wait for their group."""
        return not self._open and not any(log.unsettled for log in self._standing.logs.values())

    # --- agent ---

    def _began(self, event: Began) -> None:
        self._standing.case_number = event.number
        self._standing.names = event.local_names

    def _invoke(self, event: Invoke) -> None:
        self._open.add(event.op)
        self._standing.operation = event.op
        handle = event.handle or 0
        if event.verb == "send":
            if (producer := self._standing.producers.get(handle)) is not None:
                producer.next_number = (event.number or 0) + 1
        elif event.verb == "open_producer":
            self._standing.producers[handle] = Producer(handle, self._log(event), self._most_pending(event))
            self._clients[handle] = event.args.get("client")
        elif event.verb == "open_consumer":
            self._consumer(handle, event)
        elif event.verb == "close":
            self._close(handle)
        elif event.verb == "ack":
            self._to_acknowledge(handle, event)
        elif event.verb.startswith("open_") and event.verb not in _OPENINGS:
            self.is_unfit = True

    def _most_pending(self, event: Invoke) -> int:
        """None of a producer whose SENDs hold something else than one message."""
        own = event.args.get("config")
        if any(self._facts.in_force(self._case.config, "producer", key, own) for key in _COMPOSED):
            return _NONE
        return self._number("producer", event, _PENDING)

    def _close(self, handle: int) -> None:
        """Of a client: all that were opened with it."""
        for closed in [one for one, client in self._clients.items() if handle in (one, client)]:
            self._standing.producers.pop(closed, None)
            self._standing.consumers.pop(closed, None)

    def _to_acknowledge(self, handle: int, event: Invoke) -> None:
        consumer = self._standing.consumers.get(handle)
        if consumer is None or event.args.get("cumulative") or "of" in event.args:
            return
        places = [self._received_as.get((handle, delivery)) for delivery in event.args.get("messages", ())]
        consumer.repeats = consumer.repeats or None in places
        named = {place: _acknowledged(handle, event, place) for place in places if place is not None}
        self._acks[event.op] = consumer, named

    def _consumer(self, handle: int, event: Invoke) -> None:
        log = self._log(event)
        if len(event.args.get("topics") or (0,)) != 1 or not event.args.keys() <= _OPENING_ARGS or log.consumer:
            self.is_unfit = True
            return
        group_ms, group_max = self._number("consumer", event, _GROUP_MS), self._number("consumer", event, _GROUP_MAX)
        self._clients[handle] = event.args.get("client")
        log.consumer = self._standing.consumers[handle] = Consumer(log, group_ms * MS, group_max)

    def _log(self, event: Invoke) -> Log:
        topics = named_topics(event.args, self._case.topology.topics[0].name)
        return self._standing.log(renamed(str(topics[0]), self._standing.names))

    def _number(self, part: str, event: Invoke, key: str) -> int:
        value = self._facts.in_force(self._case.config, part, key, event.args.get("config"))
        return int(value) if isinstance(value, int | float) else _NONE

    def _completion(self, event: Completion) -> None:
        self._open.discard(event.op)
        consumer, messages = self._acks.pop(event.op, (None, {}))
        if consumer is None or event.outcome is not Outcome.OK:
            return
        # What is acknowledged twice may leave twice.
        consumer.log.unsettled.difference_update(messages)
        consumer.acking.update(messages)
        consumer.called = len(consumer.acking)

    def _received(self, event: Received) -> None:
        if (consumer := self._standing.consumers.get(event.handle)) is not None:
            consumer.delivery = event.delivery
            self._received_as[event.handle, event.delivery] = event.message_id.position

    # --- wire ---

    def _frame(self, event: Frame) -> None:
        if event.dir is _TO_CLIENT and event.to_receiver:
            self._standing.heard_ns[event.conn] = event.t_ns
        handler = self._frames.get(event.command)
        if handler is not None:
            handler(event)

    def _connects(self, event: Frame) -> None:
        if int(event.fields.get("protocol_version", 0)) < SEVERAL_IDS_SINCE:
            self._standing.one_id.add(event.conn)

    def _connected(self, event: Frame) -> None:
        self._connects(event)
        if (limit := event.fields.get("max_message_size")) is not None:
            self._standing.largest = min(self._standing.largest, int(limit) // 2)

    def _producer(self, event: Frame) -> None:
        self._standing.writings[event.conn, event.producer_id or 0] = Writing()

    def _subscribe(self, event: Frame) -> None:
        log = self._standing.log(renamed(str(event.fields.get("topic", "")), self._standing.names))
        reading = self._standing.readings[event.conn, event.consumer_id or 0] = Reading(log.consumer)
        if log.consumer is not None:
            log.consumer.reading = reading

    def _send(self, event: Frame) -> None:
        writing = self._standing.writings.get((event.conn, event.producer_id or 0))
        if writing is None:
            return
        id, identity = event.sequence_id or 0, event.members[0].identity if event.members else None
        own = identity is not None and identity.case == self._standing.case_number
        producer = self._standing.producers.get(identity.handle) if identity is not None and own else None
        writing.last_id, writing.name = id, "" if event.meta is None else event.meta.producer_name
        writing.producer = producer
        writing.unanswered.add(id)
        if producer is not None:
            producer.last_id = id

    def _answered(self, event: Frame) -> None:
        writing = self._standing.writings.get((event.conn, event.producer_id or 0))
        if writing is not None and event.to_receiver:
            writing.unanswered.discard(event.sequence_id or 0)

    def _flow(self, event: Frame) -> None:
        reading = self._standing.readings.get((event.conn, event.consumer_id or 0))
        if reading is not None:
            permits = event.permits or 0
            reading.queue = reading.queue or permits
            reading.granted += permits * event.at_client
            reading.astray += permits * (event.at_client - event.at_broker)

    def _message(self, event: Frame) -> None:
        # What costs several permits is counted in more than one way.
        self.is_unfit |= event.messages != 1
        reading = self._standing.readings.get((event.conn, event.consumer_id or 0))
        if reading is None:
            return
        reading.dispatched += event.messages * event.at_client
        reading.astray -= event.messages * (event.at_client - event.at_broker)
        if reading.consumer is not None:
            # What comes again, its ACK had not come.
            for id in event.ids:
                if reading.consumer.acking.pop(id.position, None) is not None:
                    reading.consumer.log.unsettled.add(id.position)
            reading.consumer.called = len(reading.consumer.acking)

    def _ack(self, event: Frame) -> None:
        reading = self._standing.readings.get((event.conn, event.consumer_id or 0))
        if reading is not None and event.at_client:
            reading.acked_ns = event.t_ns
        if reading is None or reading.consumer is None or not event.at_broker or event.ack_sets:
            return
        unsettled, acking = reading.consumer.log.unsettled, reading.consumer.acking
        for id in event.ids:
            settled = [id.position]
            if event.ack_type == "Cumulative":
                settled = [position for position in (*unsettled, *acking) if position <= id.position]
            for position in settled:
                unsettled.discard(position)
                acking.pop(position, None)
                for consumer, named in self._acks.values():
                    if consumer is reading.consumer:
                        named.pop(position, None)
        reading.consumer.called = len(acking)

    def _session_ended(self, event: Frame) -> None:
        if event.producer_id is not None:
            self._standing.writings.pop((event.conn, event.producer_id), None)
        else:
            self._standing.readings.pop((event.conn, event.consumer_id or 0), None)

    def _closed(self, event: Closed) -> None:
        for sessions in (self._standing.writings, self._standing.readings):
            for key in [key for key in sessions if key[0] == event.conn]:
                del sessions[key]

    # --- broker ---

    def _stored(self, event: Stored) -> None:
        log, position = self._standing.log(event.topic), event.id.position
        self.is_unfit |= log.last is not None and position < log.last
        log.last = position
        if log.consumer is not None:
            log.unsettled.add(position)


_COMPOSED: Final = ("batching", "chunking")
_PENDING: Final = "max_pending_messages"
_GROUP_MS: Final = "ack_group_ms"
_GROUP_MAX: Final = "ack_group_max"


def _acknowledged(handle: int, event: Invoke, position: Position) -> Message:
    message = Message(handle, 0, None, None, event.op, 0)
    message.position, message.acked_ns, message.called = position, event.t_ns, True
    return message


def _unsettled(log: Log) -> set[Position]:
    """What is stored in a stretch that is over, and no call has acknowledged."""
    consumer = log.consumer
    messages = chain(
        log.to_dispatch,
        *((consumer.handed, consumer.held.values(), consumer.acking.values()) if consumer is not None else ()),
    )
    return {message.position for message in messages if message.position is not None and not message.called}
