"""The consumers of a mixed life: who is open, how it subscribed, and what it does with what it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.machines.environment import Way
from assay_conformance.machines.operations import (
    EVERYTHING,
    LATER_MS,
    LISTEN_MS,
    MOST_NAMED,
    NEEDS,
    OF_LOGS,
    PLACES_IN_TIME_MS,
    RECEIVE_TIMEOUT_MS,
    Act,
    Operation,
)
from assay_conformance.machines.script import MAX_HANDLES, Script, pick
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Config, Who
from assay_conformance.model.policy import BrokerSettings

_READER: Config = {"durable": False, "subscription_type": "exclusive"}

_INSIDE = ("ack", "ack", "nack", "ack", "close", "ack")
"""What an application calls in a handler."""


@dataclass(slots=True)
class Consumers:
    """The model of the consumers of one life."""

    script: Script
    open: dict[int, Way] = field(default_factory=dict)
    active: set[int] = field(default_factory=set)
    """Of a failover subscription, and had the time to be chosen."""
    paused: set[int] = field(default_factory=set)

    # --- coming and going ---

    def open_next(self, act: Act) -> None:
        self.subscribe(pick(self.script.terms.around.ways(self.script.able), act.number), act.who)

    def subscribe(self, way: Way, client: int) -> None:
        """Open a consumer, as far as the subscription takes one more."""
        alike = [one for one in self.open.values() if one.subscription == way.subscription]
        if len(self.open) < MAX_HANDLES and not (alike and self._kind(way) == "exclusive"):
            self.open[self._join(way, client)] = way

    def _kind(self, way: Way) -> object:
        return way.config.get("subscription_type", self.script.terms.subscription_type)

    def open_beside(self, act: Act) -> None:
        """Open a consumer that is refused; no later step uses it."""
        if self.open and self.script.terms.subscription_type == "exclusive":
            self._join(next(iter(self.open.values())), act.who)

    def _join(self, way: Way, client: int, **start: int) -> int:
        more = {"pattern": way.pattern} if way.pattern else {}
        config = {"config": dict(way.config)} if way.config else {}
        listener = {"listener": True} if self._listens else {}
        args = {"topics": list(way.topics), "subscription": way.subscription, **more, **listener, **config, **start}
        return self.script.open("open_consumer", client, args)

    @property
    def _listens(self) -> bool:
        return self.script.terms.receives == "listener"

    def _close(self, consumer: int, act: Act) -> None:
        """Close a consumer; now and then another thread of the application, unaware of it, acknowledges afterwards."""
        is_reader = self.open.pop(consumer).is_reader
        if is_reader or act.number % 3 != 2:
            self.script.step(Who.AGENT, "close", handle=consumer)
            return
        self.script.awaited("close", {"handle": consumer})
        self.script.step(Who.AGENT, "ack", consumer=consumer, all=True, on_closed=True)

    def _unsubscribe(self, consumer: int, act: Act) -> None:
        """Unsubscribe; the consumer is closed after that, beside it, or with its client.

        A reader's subscription is its own, and a broker refuses while another consumer is attached.
        """
        if self.open[consumer].is_reader:
            return
        del self.open[consumer]
        ended = self.script.begun("unsubscribe", {"consumer": consumer})
        if act.number % 3 == 1:
            self.script.wait(ops=[ended])
        if act.number % 3:
            self.script.step(Who.AGENT, "close", handle=consumer)

    # --- receiving, and what comes of it ---

    def act(self, act: Act) -> None:
        if self.open and (self.script.terms.persistent or act.do not in OF_LOGS):
            _ACTS[act.do](self, pick(tuple(self.open), act.who), act)

    def _receive(self, consumer: int, act: Act) -> None:
        """Receive before messages are acknowledged: what acks name has to be there."""
        timeout_ms = RECEIVE_TIMEOUT_MS
        if self._kind(self.open[consumer]) == "failover" and consumer not in self.active:
            # The consumer that is chosen gets the first message so much later.
            timeout_ms += BrokerSettings().failover_delay_ms
            self.active.add(consumer)
        if self.script.terms.receives == "batch" and self._has_queue(consumer):
            self.script.awaited("batch_receive", {"consumer": consumer})
            return
        self.script.awaited("receive", {"consumer": consumer, "count": act.number, "timeout_ms": timeout_ms})

    def _has_queue(self, consumer: int) -> bool:
        """Return whether what comes is kept until there is a batch of it."""
        terms = self.script.terms
        size = terms.around.chosen.get("consumer.receiver_queue_size")
        own = self.open[consumer].config.get("receiver_queue_size", terms.receiver_queue_size if size is None else size)
        return own != 0

    def listen_out(self) -> None:
        """Let each consumer receive for as long as anything that is owed takes to come."""
        for consumer in self.open:
            self._listen(consumer, Act(Operation.LISTEN, number=EVERYTHING))

    def _listen(self, consumer: int, act: Act) -> None:
        self.script.step(Who.AGENT, "receive", consumer=consumer, count=act.number, timeout_ms=LISTEN_MS)

    def _call_inside(self, consumer: int, act: Act) -> None:
        """Call the client inside the next handler call, which waits. Where none begins, what follows is skipped."""
        if not self._listens:
            return
        asked = {"consumer": consumer, "count": 1, "timeout_ms": RECEIVE_TIMEOUT_MS, "does": HandlerAct.WAIT.value}
        self.script.awaited("receive", asked)
        verb = "close" if self.open[consumer].is_reader else pick(_INSIDE, act.number)
        if verb == "close":
            del self.open[consumer]
        if self.script.can(NEEDS[Operation.NACK]) or verb != "nack":
            named = {"handle": consumer} if verb == "close" else {"consumer": consumer}
            self.script.awaited(verb, {**named, "inside": 0})
        raises = {"raises": True} if act.size % 3 == 2 else {}
        self.script.awaited("let_return", {"consumer": consumer, "delivery": 0, **raises})

    def _pause(self, consumer: int, _: Act) -> None:
        if self._listens and not self.open[consumer].is_reader:
            self.paused.add(consumer)
            self.script.awaited("pause", {"consumer": consumer})

    def _resume(self, consumer: int, _: Act) -> None:
        if consumer in self.paused:
            self.paused.discard(consumer)
            self.script.awaited("resume", {"consumer": consumer})

    def resume_all(self) -> None:
        """Resume all paused consumers: nothing is owed to a consumer that is paused."""
        for consumer in [one for one in self.open if one in self.paused]:
            self._resume(consumer, Act(Operation.RESUME_HANDLER))

    def _read_values(self, consumer: int, _: Act) -> None:
        self.script.awaited("value", {"consumer": consumer, "numbers": list(range(MOST_NAMED))})

    def _ask_for_more(self, consumer: int, _: Act) -> None:
        if self.open[consumer].is_reader:
            self.script.awaited("has_message_available", {"consumer": consumer})

    def _ask_for_last(self, consumer: int, _: Act) -> None:
        way = self.open[consumer]
        if way.is_of_one_topic and not way.is_reader and not self.script.terms.partitions:
            self.script.awaited("last_message_id", {"consumer": consumer})

    def _read_from(self, consumer: int, act: Act) -> None:
        """Open a reader at a message that a consumer received; if it did not, the step is skipped."""
        way = self.open[consumer]
        if not way.is_of_one_topic or self.script.terms.partitions or len(self.open) >= MAX_HANDLES:
            return
        own = Way(way.topics, f"from-{len(self.script.belongs)}", config={**_READER, "start_inclusive": act.size == 0})
        self.open[self._join(own, act.who, start_of=consumer, start_delivery=act.number)] = own

    def _redeliver_all(self, consumer: int, _: Act) -> None:
        if not self.open[consumer].is_reader:
            self.script.step(Who.AGENT, "redeliver_all", consumer=consumer)

    def _seek(self, consumer: int, act: Act) -> None:
        if self.open[consumer].is_of_one_topic:
            self.script.awaited("seek", {"consumer": consumer, "delivery": act.number})

    def _seek_time(self, consumer: int, act: Act) -> None:
        if self.open[consumer].is_of_one_topic and self.script.found <= len(self.script.terms.around.stock):
            self.script.timed = True
            place_ms = pick(PLACES_IN_TIME_MS, act.number)
            self.script.awaited("seek", {"consumer": consumer, "publish_time_ms": place_ms})

    def _seek_twice(self, consumer: int, act: Act) -> None:
        """Seek elsewhere while the first answer has not come."""
        if self.open[consumer].is_of_one_topic:
            first = self.script.begun("seek", {"consumer": consumer, "delivery": act.number})
            second = self.script.begun("seek", {"consumer": consumer, "delivery": act.size})
            self.script.wait(ops=[first, second])

    def _settle(self, consumer: int, act: Act) -> None:
        way = self.open[consumer]
        if way.is_reader:
            return
        named = self._named(way, act)
        if act.do in named:
            verb, args = named[act.do]
            self.script.step(Who.AGENT, verb, consumer=consumer, **args)

    def _named(self, way: Way, act: Act) -> dict[Operation, tuple[str, dict[str, Any]]]:
        """Return, by operation, verb and arguments of each act of settling that is possible here."""
        one = {"messages": [act.number]}
        every = list(range(MOST_NAMED))
        named: dict[Operation, tuple[str, dict[str, Any]]] = {
            Operation.ACK: ("ack", {"all": True}),
            Operation.ACK_ONE: ("ack", one),
            Operation.ACK_UP_TO: ("ack", {**one, "cumulative": True}),
            Operation.NACK: ("nack", one),
            Operation.NACK_FIRST: ("nack", {"numbers": [act.number - 1]}),
            Operation.NACK_ALL: ("nack", {"numbers": every}),
        }
        if self.script.around.sends_round:
            named[Operation.LATER] = ("reconsume_later", {"numbers": every, "delay_ms": pick(LATER_MS, act.number)})
        for other in [other for other, its in self.open.items() if not set(its.topics) & set(way.topics)][:1]:
            named[Operation.ACK_OF_ANOTHER] = ("ack", {**one, "of": other})
            named[Operation.ACK_UP_TO_ANOTHER] = ("ack", {**one, "of": other, "cumulative": True})
        return named


_ACTS: Mapping[Operation, Callable[[Consumers, int, Act], None]] = {
    **dict.fromkeys(OF_LOGS, Consumers._settle),
    Operation.SEEK: Consumers._seek,
    Operation.SEEK_TIME: Consumers._seek_time,
    Operation.SEEK_TWICE: Consumers._seek_twice,
    Operation.REDELIVER_ALL: Consumers._redeliver_all,
    Operation.RECEIVE: Consumers._receive,
    Operation.LISTEN: Consumers._listen,
    Operation.ASK_FOR_MORE: Consumers._ask_for_more,
    Operation.ASK_FOR_LAST: Consumers._ask_for_last,
    Operation.READ_FROM: Consumers._read_from,
    Operation.CLOSE_CONSUMER: Consumers._close,
    Operation.UNSUBSCRIBE: Consumers._unsubscribe,
    Operation.CALL_INSIDE: Consumers._call_inside,
    Operation.PAUSE_HANDLER: Consumers._pause,
    Operation.RESUME_HANDLER: Consumers._resume,
    Operation.READ_VALUES: Consumers._read_values,
}
