"""One producer or consumer is in trouble, and others of the process must not be delayed by that.

A table of troubles, and of what both sides share. All share a process; apart from that

| `Shares`     | they share                                                |
|--------------|-----------------------------------------------------------|
| process      | nothing: each has a client                                |
| client       | a client; their brokers, and so their connections, differ |
| connection   | a client and its connection to the one broker             |
| topic        | the topic as well; consumers are of two subscriptions     |
| subscription | the subscription as well: consumers share its messages    |
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.agent import HandlerAct
from assay_conformance.model.case import Case, Limits, Rate, Tier, Topic, Topology
from assay_conformance.model.fault import AnswerError, Drop, Fault, Hold, OnFrame, Scope, Until

TIMEOUT_MS: Final = 2_000
BACKLOG: Final = 200
QUEUE: Final = 3
ROUNDS: Final = 2
STEP: Final = 3
"""Messages that are sent and received in a round."""

_REQUIREMENT: Final = "robustness.trouble-delays-no-other"
_TROUBLED: Final = "troubled"


class Shares(StrEnum):
    """What the producer or consumer in trouble shares with the others."""

    PROCESS = "process"
    CLIENT = "client"
    CONNECTION = "connection"
    TOPIC = "topic"
    SUBSCRIPTION = "subscription"


Finish = Callable[[], None]
"""Append to the plan the steps that end a trouble, or wait for its end."""


class _Troubled(NamedTuple):
    """The client, topic and subscription of the producer or consumer in trouble."""

    client: int
    topic: str
    subscription: str

    def producer(self, plan: Schedule, *, wait: bool = True, **config: Any) -> int:
        return plan.producer(self.client, self.topic, wait=wait, producer_name=_TROUBLED, **config)

    def consumer(self, plan: Schedule, *, wait: bool = True, listener: bool = False, **config: Any) -> int:
        return plan.consumer(self.client, self.topic, self.subscription, wait=wait, listener=listener, **config)


class _Trouble(NamedTuple):
    """`makes` brings it about. `shares`: what may be shared, each a Case; the first one is part of every run.
    `rate`: the dispatch rate of its topic."""

    words: str
    what: str
    makes: Callable[[Schedule, _Troubled], Finish]
    faults: tuple[Fault, ...] = ()
    capabilities: tuple[str, ...] = ()
    shares: tuple[Shares, ...] = (Shares.CONNECTION, Shares.CLIENT, Shares.TOPIC, Shares.PROCESS)
    rate: Rate = Rate()


_OF_CONSUMERS: Final = (Shares.CONNECTION, Shares.CLIENT, Shares.TOPIC, Shares.SUBSCRIPTION, Shares.PROCESS)


def _opens_producer(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, troubled.producer(plan, wait=False))


def _opens_consumer(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, troubled.consumer(plan, wait=False))


def _is_not_read(plan: Schedule, troubled: _Troubled) -> Finish:
    troubled.consumer(plan, receiver_queue_size=QUEUE)
    plan.wait_frame("MESSAGE", down("MESSAGE").direction, QUEUE)
    return lambda: None


def _handles_slowly(plan: Schedule, troubled: _Troubled) -> Finish:
    """Let a handler return only when everything else is over."""
    consumer = troubled.consumer(plan, listener=True)
    plan.receive(consumer, 1, does=HandlerAct.WAIT, wait=True)

    def lets_return() -> None:
        plan.let_return(consumer, 1)

    return lets_return


def _sends_in_vain(plan: Schedule, troubled: _Troubled, **config: Any) -> Finish:
    producer = troubled.producer(plan, max_pending_messages=QUEUE, send_timeout_ms=TIMEOUT_MS, **config)
    return partial(plan.wait_ops, plan.send(producer, 2 * QUEUE))


def _blocks(plan: Schedule, troubled: _Troubled) -> Finish:
    return _sends_in_vain(plan, troubled, block_if_queue_full=True)


def _is_given_little(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, plan.receive(troubled.consumer(plan), BACKLOG, 2 * TIMEOUT_MS))


def _reads_one(plan: Schedule, troubled: _Troubled, **config: Any) -> int:
    consumer = troubled.consumer(plan, **config)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    return consumer


def _seeks(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, plan.seek(_reads_one(plan, troubled), delivery=1))


def _nacks(plan: Schedule, troubled: _Troubled) -> Finish:
    """Nack everything that is received, and again when it is redelivered."""
    consumer = troubled.consumer(plan, nack_delay_ms=TIMEOUT_MS // 2, subscription_type="shared")
    plan.wait_ops(plan.receive(consumer, BACKLOG // 4, STARVED_MS))
    plan.nack(consumer)
    return partial(plan.wait_ops, plan.receive(consumer, BACKLOG // 4, TIMEOUT_MS))


def _closes_producer(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, plan.close(troubled.producer(plan)))


def _closes_consumer(plan: Schedule, troubled: _Troubled) -> Finish:
    return partial(plan.wait_ops, plan.close(_reads_one(plan, troubled)))


def _of_producer(trigger: OnFrame, action: Drop | AnswerError) -> tuple[Fault, ...]:
    return (Fault(trigger=trigger, action=action, scope=Scope(producer_name=_TROUBLED)),)


def _of_consumer(trigger: OnFrame, action: Drop | AnswerError) -> tuple[Fault, ...]:
    return (Fault(trigger=trigger, action=action, scope=Scope(subscription=_TROUBLED)),)


_NOT_READY: Final = AnswerError("ServiceNotReady")

TROUBLES: Final = (
    _Trouble(
        "a-refused-producer",
        "The opening of a producer is answered ServiceNotReady until it times out",
        _opens_producer,
        _of_producer(up("PRODUCER", times=0), _NOT_READY),
    ),
    _Trouble(
        "an-unanswered-producer",
        "The opening of a producer is never answered",
        _opens_producer,
        _of_producer(down("PRODUCER_SUCCESS", times=0), Drop()),
    ),
    _Trouble(
        "a-refused-consumer",
        "The opening of a consumer is answered ServiceNotReady until it times out",
        _opens_consumer,
        _of_consumer(up("SUBSCRIBE", times=0), _NOT_READY),
    ),
    _Trouble(
        "an-unanswered-consumer",
        "The opening of a consumer is never answered",
        _opens_consumer,
        _of_consumer(down("SUCCESS", answers="SUBSCRIBE", times=0), Drop()),
    ),
    _Trouble(
        "an-unread-consumer",
        "A consumer with a queue of three and a backlog of two hundred messages is not received from",
        _is_not_read,
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "a-slow-handler",
        "A message handler does not return",
        _handles_slowly,
        capabilities=("message_listener",),
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "a-blocked-producer",
        "A producer with a full pending queue blocks, and gets no receipts",
        _blocks,
        _of_producer(down("SEND_RECEIPT", times=0), Drop()),
        ("send_timeout",),
    ),
    _Trouble(
        "a-full-producer",
        "A producer with a full pending queue refuses sends, and gets no receipts",
        _sends_in_vain,
        _of_producer(down("SEND_RECEIPT", times=0), Drop()),
        ("send_timeout",),
    ),
    _Trouble(
        "a-throttled-consumer",
        "A consumer gets ten messages a second by a dispatch rate",
        _is_given_little,
        shares=(Shares.CONNECTION, Shares.CLIENT, Shares.PROCESS),
        rate=Rate(messages=10),
    ),
    _Trouble(
        "an-unanswered-seek",
        "A seek is never answered",
        _seeks,
        _of_consumer(down("SUCCESS", answers="SEEK", times=0), Drop()),
        ("seek",),
    ),
    _Trouble(
        "many-nacks",
        "A consumer nacks fifty messages at once",
        _nacks,
        capabilities=("nack_delay",),
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "an-unanswered-close-of-a-producer",
        "The close of a producer is never answered",
        _closes_producer,
        _of_producer(down("SUCCESS", answers="CLOSE_PRODUCER", times=0), Drop()),
    ),
    _Trouble(
        "an-unanswered-close-of-a-consumer",
        "The close of a consumer is never answered",
        _closes_consumer,
        _of_consumer(down("SUCCESS", answers="CLOSE_CONSUMER", times=0), Drop()),
    ),
)

_WITH: Final = {
    Shares.PROCESS: "of another client in the process",
    Shares.CLIENT: "of its client, at another broker,",
    Shares.CONNECTION: "on the same connection",
    Shares.TOPIC: "on the same topic",
    Shares.SUBSCRIPTION: "of the same subscription",
}


def beside(trouble: _Trouble, shares: Shares) -> Case:
    """Use what was opened before the trouble in each of its rounds."""
    plan, client = Schedule.with_client()
    other = plan.client() if shares is Shares.PROCESS else client
    topic = "well" if shares in (Shares.TOPIC, Shares.SUBSCRIPTION) else _TROUBLED
    troubled = _Troubled(other, topic, "s" if shares is Shares.SUBSCRIPTION else _TROUBLED)
    if shares is Shares.CLIENT:
        plan.broker("unload", topic=_TROUBLED, broker=1)
    plan.broker("store_entries", topic=topic, entries=plains(range(BACKLOG)))
    producer, consumer = plan.producer(client, "well"), plan.consumer(client, "well")
    finish = trouble.makes(plan, troubled)
    for fault in range(len(trouble.faults)):
        plan.wait_fired(fault)
    for _ in range(ROUNDS):
        plan.wait_ops(plan.send(producer, STEP))
        plan.wait_ops(plan.receive(consumer, STEP, STARVED_MS))
    late = plan.producer(client, "well")
    plan.wait_ops(plan.close(late))
    plan.wait_ops(plan.ack(consumer))
    finish()
    return plan.case(
        f"robustness/beside-{trouble.words}-{shares}",
        f"{trouble.what}; meanwhile others {_WITH[shares]} send, receive and open",
        (_REQUIREMENT,),
        capabilities=tuple(dict.fromkeys(("producer", "consumer", *trouble.capabilities))),
        client={"operation_timeout_ms": TIMEOUT_MS},
        consumer={**EARLIEST, "subscription_type": "shared"} if shares is Shares.SUBSCRIPTION else EARLIEST,
        topology=Topology(
            topics=(Topic(name="well"), Topic(name=_TROUBLED, dispatch_rate=trouble.rate)),
            brokers=2 if shares is Shares.CLIENT else 1,
        ),
        faults=trouble.faults,
        limits=Limits(operation_ms=4 * TIMEOUT_MS),
        tier=Tier.FAST if shares is trouble.shares[0] else Tier.FULL,
    )


def opened_beside_a_refused_one() -> Case:
    """Open two producers at once; the broker admits one after it has sent an error to the other.

    A client may close the connection over the error, and tries again.
    """
    plan, client = Schedule.with_client()
    refused = plan.producer(client, _TROUBLED, wait=False, producer_name=_TROUBLED)
    well = plan.producer(client, "well", wait=False)
    plan.wait_ops(well)
    plan.wait_ops(plan.send(well, STEP))
    plan.wait_ops(refused)
    return plan.case(
        "robustness/opened-beside-a-refused-producer",
        "Of two producers opened at once, one is answered ServiceNotReady until it times out, and the other is "
        "admitted",
        (_REQUIREMENT,),
        capabilities=("producer",),
        client={"operation_timeout_ms": TIMEOUT_MS},
        topology=Topology(topics=(Topic(name="well"), Topic(name=_TROUBLED))),
        faults=(
            *_of_producer(up("PRODUCER", times=0), _NOT_READY),
            Fault(trigger=down("PRODUCER_SUCCESS"), action=Hold(overtake=True), until=Until(frame=down("ERROR"))),
        ),
        limits=Limits(operation_ms=4 * TIMEOUT_MS),
    )


CASES = (
    *(beside(trouble, shares) for trouble in TROUBLES for shares in trouble.shares),
    opened_beside_a_refused_one(),
)
