"""Writing a Case by hand: a schedule that numbers its own steps, and short words for triggers.

    def three_sends_then_a_cut() -> Case:
        plan, producer = Schedule.with_producer()
        plan.send(producer, 3)
        plan.wait_ops()
        return plan.case(
            "resend/three-sends",
            "Three sends, the connection dies after the second receipt",
            ("resend.pending-sends-resent",),
            faults=(Fault(trigger=down("SEND_RECEIPT", k=2), action=Cut()),),
        )

Handles and operations share one numbering: the number a method returns is what later steps name. Agent steps are issued
and not awaited; only `client`, `producer` and `consumer` wait until the handle is open, because what follows is about
an open handle; `wait=False` leaves that wait out.

Arguments of agent steps are those of the agent protocol, with the Case's numbers for handles and local topic names; the
bench adds what only it knows (the `handle` of what is opened, and every payload: a message names its `size` alone).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, ClientConfig, Config, ConfigValue, Limits, Step, Who
from assay_conformance.model.fault import Direction, FieldValue, OnFrame
from assay_conformance.model.requirement import RequirementId

DEFAULT_PAYLOAD_BYTES = 64
EARLIEST: Config = {"initial_position": "earliest"}

RESTART_MS = 30_000
"""For what waits for a broker that comes up again: a real one takes seconds, and its clients look again ever later."""
AROUND_RESTARTS = Limits(operation_ms=RESTART_MS, case_ms=4 * RESTART_MS)

STARVED_MS = 1_700
"""How long a step waits for what is certain to come: a reconnect, or the second after which a failover consumer is made
active, and longer than any answer takes on a machine that stands still for a moment."""
ACKS_FLUSHED_MS = 300
"""Silence that shows which acks a client does not send: a group interval of 100 ms, its tolerance, and some more."""


def up(command: str, k: int = 1, **options: Any) -> OnFrame:
    """Return the trigger of the k-th such frame from client to broker; `options` are those of OnFrame."""
    return OnFrame(command=command, direction=Direction.TO_BROKER, k=k, **options)


def down(command: str, k: int = 1, **options: Any) -> OnFrame:
    """Return the trigger of the k-th such frame from broker to client."""
    return OnFrame(command=command, direction=Direction.TO_CLIENT, k=k, **options)


class Schedule:
    """Collects steps. Every method appends at least one; `last` is the index faults refer to by AfterStep and Until."""

    def __init__(self, stored: Sequence[Mapping[str, Any]] = ()) -> None:
        """Begin with `stored`: entries (`cases.stored`) that topic `t` holds before anything else happens."""
        self.steps: list[Step] = []
        self._saved = 0
        if stored:
            self.broker("store_entries", topic="t", entries=stored)

    @classmethod
    def with_client(cls, stored: Sequence[Mapping[str, Any]] = (), **config: Any) -> tuple[Schedule, int]:
        """Begin with a client, and return it, too."""
        plan = cls(stored)
        return plan, plan.client(**config)

    @classmethod
    def with_producer(cls, topic: str = "t", **config: Any) -> tuple[Schedule, int]:
        """Begin with a client and a producer of it, and return the producer, too."""
        plan, client = cls.with_client()
        return plan, plan.producer(client, topic, **config)

    @classmethod
    def with_consumer(
        cls, topic: str | Sequence[str] = "t", stored: Sequence[Mapping[str, Any]] = (), **config: Any
    ) -> tuple[Schedule, int]:
        """Begin with a client and a consumer of it, and return the consumer, too."""
        plan, client = cls.with_client(stored)
        return plan, plan.consumer(client, topic, **config)

    @classmethod
    def with_consumer_of(cls, entries: Sequence[Mapping[str, Any]], **options: Any) -> tuple[Schedule, int]:
        """Begin with a consumer that was handed these entries: `consumer_of`."""
        plan = cls()
        return plan, plan.consumer_of(entries, **options)

    @property
    def last(self) -> int:
        """Index of the step appended last."""
        return len(self.steps) - 1

    def case(
        self,
        id: str,
        title: str,
        requirements: Sequence[str],
        *,
        client: Mapping[str, ConfigValue] | None = None,
        producer: Mapping[str, ConfigValue] | None = None,
        consumer: Mapping[str, ConfigValue] | None = None,
        **fields: Any,
    ) -> Case:
        """Return the Case of these steps.

        `client`, `producer` and `consumer` are configuration; `fields` the rest of Case.
        """
        return Case(
            id=id,
            title=title,
            requirements=tuple(RequirementId(requirement) for requirement in requirements),
            steps=tuple(self.steps),
            config=ClientConfig(
                client=dict(client or {}), producer=dict(producer or {}), consumer=dict(consumer or {})
            ),
            **fields,
        )

    # --- what the agent does ---

    def client(self, *, wait: bool = True, **config: ConfigValue) -> int:
        return self._open("open_client", {}, config, wait)

    def producer(self, client: int, topic: str = "t", *, wait: bool = True, **config: ConfigValue) -> int:
        return self._open("open_producer", {"client": client, "topic": topic}, config, wait)

    def consumer(
        self,
        client: int,
        topic: str | Sequence[str] = "t",
        subscription: str = "s",
        *,
        pattern: str = "",
        listener: bool = False,
        state_listener: bool = False,
        start: tuple[int, int] | None = None,
        wait: bool = True,
        **config: ConfigValue,
    ) -> int:
        """Open a consumer. With a `pattern` (of local names) `topic` says which topics of the Case match it; `start` is
        for a reader that begins at a message: the handle of who received it, and the number of that delivery."""
        topics = [topic] if isinstance(topic, str) else list(topic)
        args: dict[str, Any] = {"client": client, "topics": topics, "subscription": subscription}
        more = {"pattern": pattern, "listener": listener, "state_listener": state_listener}
        args |= {name: value for name, value in more.items() if value}
        args |= {} if start is None else {"start_of": start[0], "start_delivery": start[1]}
        return self._open("open_consumer", args, config, wait)

    def table_view(
        self, client: int, topic: str = "t", subscription: str = "v", *, listener: bool = False, wait: bool = True
    ) -> int:
        args: dict[str, Any] = {"client": client, "topic": topic, "subscription": subscription}
        return self._open("open_table_view", {**args, "listener": True} if listener else args, {}, wait)

    def read_table_view(self, view: int) -> int:
        return self.agent("read_table_view", {"handle": view})

    def send(self, producer: int, count: int = 1, size: int = DEFAULT_PAYLOAD_BYTES, **message: Any) -> int:
        """Send `count` messages in one command, alike in everything but their number; return the operation.

        `message`: fields of OutMessage. The number returned stands for all their operations.
        """
        return self.agent("send", {"producer": producer, "count": count, "size": size, **message})

    def end_callback(self, sent: int) -> int:
        """Let the callback of a send that waits return; `sent` is the number of its step."""
        return self.agent("end_callback", {"send": sent})

    def receive(
        self,
        consumer: int,
        count: int,
        timeout_ms: int = 10_000,
        *,
        does: HandlerAct = HandlerAct.RETURN,
        wait: bool = False,
    ) -> int:
        """Receive `count` messages.

        `does`: what each call of a handler does, where the consumer has one; `wait`: until the application has got as
        many messages of this consumer.
        """
        args = {"consumer": consumer, "count": count, "timeout_ms": timeout_ms}
        op = self.agent("receive", args if does is HandlerAct.RETURN else {**args, "does": does.value})
        if wait:
            self.wait_received(consumer, count)
        return op

    def let_return(self, consumer: int, delivery: int, *, raises: bool = False) -> int:
        """End the handler call of a delivery that waits."""
        args = {"consumer": consumer, "delivery": delivery}
        return self.agent("let_return", {**args, "raises": True} if raises else args)

    def batch_receive(self, consumer: int) -> int:
        return self.agent("batch_receive", {"consumer": consumer})

    def ack(
        self,
        consumer: int,
        *,
        messages: Sequence[int] = (),
        numbers: Sequence[int] = (),
        cumulative: bool = False,
        of: int | None = None,
        inside: int | None = None,
        in_callback: int | None = None,
    ) -> int:
        """Acknowledge by delivery ordinal (`messages`), by payload number (`numbers`), or, with neither, all so far;
        with `of` those of that consumer; with `inside` in the handler call of that delivery, which waits; with
        `in_callback` in the callback of that send, which waits."""
        args = {"consumer": consumer, **_named(messages, numbers), **({} if of is None else {"of": of})}
        args |= {**_inside(inside), **_in_callback(in_callback)}
        return self.agent("ack", {**args, "cumulative": True} if cumulative else args)

    def nack(
        self, consumer: int, *, messages: Sequence[int] = (), numbers: Sequence[int] = (), inside: int | None = None
    ) -> int:
        """Nack messages, named as in `ack`."""
        return self.agent("nack", {"consumer": consumer, **_named(messages, numbers), **_inside(inside)})

    def seek(
        self,
        consumer: int,
        *,
        delivery: int | None = None,
        publish_time_ms: int | None = None,
        in_callback: int | None = None,
    ) -> int:
        """Seek after the message of a delivery, or to the first message published at that time or later."""
        target = {"publish_time_ms": publish_time_ms} if delivery is None else {"delivery": delivery}
        return self.agent("seek", {"consumer": consumer, **target, **_in_callback(in_callback)})

    def redeliver_all(self, consumer: int) -> int:
        """Have everything that is not acknowledged delivered again."""
        return self.agent("redeliver_all", {"consumer": consumer})

    def has_message_available(self, consumer: int) -> int:
        return self.agent("has_message_available", {"consumer": consumer})

    def last_message_id(self, consumer: int) -> int:
        return self.agent("last_message_id", {"consumer": consumer})

    def reconsume_later(
        self, consumer: int, delay_ms: int, *, messages: Sequence[int] = (), numbers: Sequence[int] = ()
    ) -> int:
        """Send messages to the retry letter topic, named as in `ack`."""
        args = {"consumer": consumer, **_named(messages, numbers), "delay_ms": delay_ms}
        return self.agent("reconsume_later", args)

    def value(self, consumer: int, *, messages: Sequence[int] = (), numbers: Sequence[int] = ()) -> int:
        """Read the values of messages, named as in `ack`."""
        return self.agent("value", {"consumer": consumer, **_named(messages, numbers)})

    def pause(self, consumer: int) -> int:
        return self.agent("pause", {"consumer": consumer})

    def resume(self, consumer: int) -> int:
        return self.agent("resume", {"consumer": consumer})

    def flush(self, producer: int, *, in_callback: int | None = None) -> int:
        return self.agent("flush", {"producer": producer, **_in_callback(in_callback)})

    def close(self, handle: int, *, inside: int | None = None, in_callback: int | None = None) -> int:
        return self.agent("close", {"handle": handle, **_inside(inside), **_in_callback(in_callback)})

    def agent(self, verb: str, args: Mapping[str, Any]) -> int:
        """Add a step with any verb of the agent protocol; return its number."""
        self._saved += 1
        self.steps.append(Step(Who.AGENT, verb, dict(args), saves=self._saved))
        return self._saved

    def consumer_of(self, entries: Sequence[Mapping[str, Any]], *, receives: int, timeout_ms: int = 10_000) -> int:
        """Open a consumer of topic `t` with these entries (`cases.stored`), and let it receive so many messages."""
        self.broker("store_entries", topic="t", entries=entries)
        consumer = self.consumer(self.client())
        self.receive(consumer, receives, timeout_ms)
        self.wait_ops()
        return consumer

    # --- what the broker and the bench do ---

    def broker(self, verb: str, **args: Any) -> None:
        """Add a step with a broker verb, one of `broker.steps.STEPS`, and its arguments."""
        self.steps.append(Step(Who.BROKER, verb, args))

    @contextmanager
    def held(self, topic: str = "t") -> Iterator[None]:
        """Hold the store of `topic` during the steps that are appended inside; release it after them."""
        self.broker("hold_store", topic=topic)
        yield
        self.broker("release", topic=topic)

    def heal(self, fault: int) -> None:
        """End fault number `fault` of the Case."""
        self.steps.append(Step(Who.BENCH, "heal", {"fault": fault}))

    # --- waits ---

    def wait_ops(self, *ops: int, **options: Any) -> None:
        """Wait until these operations have completed; with none named, all issued so far."""
        self._wait("ops", {"ops": list(ops)} if ops else {}, options)

    def wait_frame(
        self,
        command: str,
        direction: Direction,
        count: int = 1,
        where: Mapping[str, FieldValue] | None = None,
        **options: Any,
    ) -> None:
        """Wait until `count` such frames have crossed since the Case began."""
        args: dict[str, Any] = {"command": command, "direction": direction.value, "count": count}
        self._wait("frame", {**args, "where": dict(where)} if where else args, options)

    def wait_sends(self, count: int, **options: Any) -> None:
        self.wait_frame("SEND", Direction.TO_BROKER, count, **options)

    def wait_receipts(self, count: int, **options: Any) -> None:
        """Wait until the broker has written so many receipts, whatever becomes of them.

        Sends that crossed may still be on their way to a broker that is far away.
        """
        self.wait_frame("SEND_RECEIPT", Direction.TO_CLIENT, count, **options)

    def wait_received(self, consumer: int, count: int, **options: Any) -> None:
        """Wait until the application has got `count` messages from this consumer."""
        self._wait("received", {"consumer": consumer, "count": count}, options)

    def wait_fired(self, fault: int, **options: Any) -> None:
        self._wait("fired", {"fault": fault}, options)

    def wait_healed(self, fault: int, **options: Any) -> None:
        """Wait until the fault has really ended: a process that was killed is up again."""
        self._wait("healed", {"fault": fault}, options)

    def wait_ms(self, ms: int) -> None:
        """Wait so long; only where silence itself is the evidence."""
        self._wait("ms", {"ms": ms}, {})

    # --- inside ---

    def _open(self, verb: str, args: dict[str, Any], config: Config, wait: bool) -> int:
        handle = self.agent(verb, {**args, "config": config} if config else args)
        if wait:
            self.wait_ops(handle)
        return handle

    def _wait(self, verb: str, args: dict[str, Any], options: Mapping[str, Any]) -> None:
        self.steps.append(Step(Who.WAIT, verb, {**args, **options}))


def _inside(delivery: int | None) -> dict[str, Any]:
    return {} if delivery is None else {"inside": delivery}


def _in_callback(sent: int | None) -> dict[str, Any]:
    return {} if sent is None else {"in_callback": sent}


def _named(messages: Sequence[int], numbers: Sequence[int]) -> dict[str, Any]:
    if messages:
        return {"messages": list(messages)}
    return {"numbers": list(numbers)} if numbers else {"all": True}
