"""One producer or consumer is in trouble, and a producer, a consumer and an opening beside it go on as if alone.

A table: what the trouble is, and what both share. All share a process; besides

| `Shares`     | they share                                                                   |
|--------------|------------------------------------------------------------------------------|
| process      | nothing: each has a client                                                   |
| client       | a client; their brokers, and so their connections, differ                    |
| connection   | a client and its connection to the one broker                                |
| topic        | the topic, too; consumers are of two subscriptions                           |
| subscription | the subscription, too: consumers share its messages                          |
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
_ILL: Final = "ill"


class Shares(StrEnum):
    """What the one that is in trouble shares with the others."""

    PROCESS = "process"
    CLIENT = "client"
    CONNECTION = "connection"
    TOPIC = "topic"
    SUBSCRIPTION = "subscription"


Finish = Callable[[], None]
"""Appends to the plan what ends a trouble, or waits for its end."""


class _Ill(NamedTuple):
    """Who is in trouble: on which client, on which topic and subscription, and what is configured of it."""

    client: int
    topic: str
    subscription: str

    def producer(self, plan: Schedule, *, wait: bool = True, **config: Any) -> int:
        return plan.producer(self.client, self.topic, wait=wait, producer_name=_ILL, **config)

    def consumer(self, plan: Schedule, *, wait: bool = True, listener: bool = False, **config: Any) -> int:
        return plan.consumer(self.client, self.topic, self.subscription, wait=wait, listener=listener, **config)


class _Trouble(NamedTuple):
    """`makes` brings it about. `shares`: with what it is tried, with the first of them in every
    run. `rate`: of dispatch, on its topic."""

    words: str
    what: str
    makes: Callable[[Schedule, _Ill], Finish]
    faults: tuple[Fault, ...] = ()
    capabilities: tuple[str, ...] = ()
    shares: tuple[Shares, ...] = (Shares.CONNECTION, Shares.CLIENT, Shares.TOPIC, Shares.PROCESS)
    rate: Rate = Rate()


_OF_CONSUMERS: Final = (Shares.CONNECTION, Shares.CLIENT, Shares.TOPIC, Shares.SUBSCRIPTION, Shares.PROCESS)


def _opens_producer(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, ill.producer(plan, wait=False))


def _opens_consumer(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, ill.consumer(plan, wait=False))


def _is_not_read(plan: Schedule, ill: _Ill) -> Finish:
    ill.consumer(plan, receiver_queue_size=QUEUE)
    plan.wait_frame("MESSAGE", down("MESSAGE").direction, QUEUE)
    return lambda: None


def _handles_slowly(plan: Schedule, ill: _Ill) -> Finish:
    """Let a handler return when everything else is over."""
    consumer = ill.consumer(plan, listener=True)
    plan.receive(consumer, 1, does=HandlerAct.WAIT, wait=True)

    def lets_return() -> None:
        plan.let_return(consumer, 1)

    return lets_return


def _sends_in_vain(plan: Schedule, ill: _Ill, **config: Any) -> Finish:
    producer = ill.producer(plan, max_pending_messages=QUEUE, send_timeout_ms=TIMEOUT_MS, **config)
    return partial(plan.wait_ops, plan.send(producer, 2 * QUEUE))


def _blocks(plan: Schedule, ill: _Ill) -> Finish:
    return _sends_in_vain(plan, ill, block_if_queue_full=True)


def _is_given_little(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, plan.receive(ill.consumer(plan), BACKLOG, 2 * TIMEOUT_MS))


def _reads_one(plan: Schedule, ill: _Ill, **config: Any) -> int:
    consumer = ill.consumer(plan, **config)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    return consumer


def _seeks(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, plan.seek(_reads_one(plan, ill), delivery=1))


def _nacks(plan: Schedule, ill: _Ill) -> Finish:
    """Nack all that came, and again when it comes again."""
    consumer = ill.consumer(plan, nack_delay_ms=TIMEOUT_MS // 2, subscription_type="shared")
    plan.wait_ops(plan.receive(consumer, BACKLOG // 4, STARVED_MS))
    plan.nack(consumer)
    return partial(plan.wait_ops, plan.receive(consumer, BACKLOG // 4, TIMEOUT_MS))


def _closes_producer(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, plan.close(ill.producer(plan)))


def _closes_consumer(plan: Schedule, ill: _Ill) -> Finish:
    return partial(plan.wait_ops, plan.close(_reads_one(plan, ill)))


def _of_producer(trigger: OnFrame, action: Drop | AnswerError) -> tuple[Fault, ...]:
    return (Fault(trigger=trigger, action=action, scope=Scope(producer_name=_ILL)),)


def _of_consumer(trigger: OnFrame, action: Drop | AnswerError) -> tuple[Fault, ...]:
    return (Fault(trigger=trigger, action=action, scope=Scope(subscription=_ILL)),)


_NOT_READY: Final = AnswerError("ServiceNotReady")

TROUBLES: Final = (
    _Trouble(
        "a-refused-producer",
        "the opening of a producer is refused as not ready until it times out",
        _opens_producer,
        _of_producer(up("PRODUCER", times=0), _NOT_READY),
    ),
    _Trouble(
        "an-unanswered-producer",
        "the opening of a producer is never answered",
        _opens_producer,
        _of_producer(down("PRODUCER_SUCCESS", times=0), Drop()),
    ),
    _Trouble(
        "a-refused-consumer",
        "the opening of a consumer is refused as not ready until it times out",
        _opens_consumer,
        _of_consumer(up("SUBSCRIBE", times=0), _NOT_READY),
    ),
    _Trouble(
        "an-unanswered-consumer",
        "the opening of a consumer is never answered",
        _opens_consumer,
        _of_consumer(down("SUCCESS", answers="SUBSCRIBE", times=0), Drop()),
    ),
    _Trouble(
        "an-unread-consumer",
        "a consumer with a queue of three and two hundred messages before it is not read from",
        _is_not_read,
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "a-slow-handler",
        "a message handler does not return",
        _handles_slowly,
        capabilities=("message_listener",),
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "a-blocked-producer",
        "a producer whose queue is full blocks, and gets no receipts",
        _blocks,
        _of_producer(down("SEND_RECEIPT", times=0), Drop()),
        ("send_timeout",),
    ),
    _Trouble(
        "a-full-producer",
        "a producer whose queue is full refuses sends, and gets no receipts",
        _sends_in_vain,
        _of_producer(down("SEND_RECEIPT", times=0), Drop()),
        ("send_timeout",),
    ),
    _Trouble(
        "a-throttled-consumer",
        "a consumer is given ten messages a second",
        _is_given_little,
        shares=(Shares.CONNECTION, Shares.CLIENT, Shares.PROCESS),
        rate=Rate(messages=10),
    ),
    _Trouble(
        "an-unanswered-seek",
        "a seek is never answered",
        _seeks,
        _of_consumer(down("SUCCESS", answers="SEEK", times=0), Drop()),
        ("seek",),
    ),
    _Trouble(
        "many-nacks",
        "a consumer nacks fifty messages at once",
        _nacks,
        capabilities=("nack_delay",),
        shares=_OF_CONSUMERS,
    ),
    _Trouble(
        "an-unanswered-close-of-a-producer",
        "the close of a producer is never answered",
        _closes_producer,
        _of_producer(down("SUCCESS", answers="CLOSE_PRODUCER", times=0), Drop()),
    ),
    _Trouble(
        "an-unanswered-close-of-a-consumer",
        "the close of a consumer is never answered",
        _closes_consumer,
        _of_consumer(down("SUCCESS", answers="CLOSE_CONSUMER", times=0), Drop()),
    ),
)

_WITH: Final = {
    Shares.PROCESS: "on a client of its own",
    Shares.CLIENT: "at another broker",
    Shares.CONNECTION: "on the same connection",
    Shares.TOPIC: "on the same topic",
    Shares.SUBSCRIPTION: "of the same subscription",
}


def beside(trouble: _Trouble, shares: Shares) -> Case:
    """Use what was opened before the trouble in each of its rounds."""
    plan, client = Schedule.with_client()
    other = plan.client() if shares is Shares.PROCESS else client
    topic = "well" if shares in (Shares.TOPIC, Shares.SUBSCRIPTION) else _ILL
    ill = _Ill(other, topic, "s" if shares is Shares.SUBSCRIPTION else _ILL)
    if shares is Shares.CLIENT:
        plan.broker("unload", topic=_ILL, broker=1)
    plan.broker("store_entries", topic=topic, entries=plains(range(BACKLOG)))
    producer, consumer = plan.producer(client, "well"), plan.consumer(client, "well")
    finish = trouble.makes(plan, ill)
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
        f"A producer and a consumer go on, and another producer opens, while {_WITH[shares]} {trouble.what}",
        (_REQUIREMENT,),
        capabilities=tuple(dict.fromkeys(("producer", "consumer", *trouble.capabilities))),
        client={"operation_timeout_ms": TIMEOUT_MS},
        consumer={**EARLIEST, "subscription_type": "shared"} if shares is Shares.SUBSCRIPTION else EARLIEST,
        topology=Topology(
            topics=(Topic(name="well"), Topic(name=_ILL, dispatch_rate=trouble.rate)),
            brokers=2 if shares is Shares.CLIENT else 1,
        ),
        faults=trouble.faults,
        limits=Limits(operation_ms=4 * TIMEOUT_MS),
        tier=Tier.FAST if shares is trouble.shares[0] else Tier.FULL,
    )


def opened_beside_a_refused_one() -> Case:
    """Open two at once; the broker admits one, behind its error to the other.

    A client may end the connection over the error, and asks again.
    """
    plan, client = Schedule.with_client()
    refused = plan.producer(client, _ILL, wait=False, producer_name=_ILL)
    well = plan.producer(client, "well", wait=False)
    plan.wait_ops(well)
    plan.wait_ops(plan.send(well, STEP))
    plan.wait_ops(refused)
    return plan.case(
        "robustness/opened-beside-a-refused-producer",
        "Of two producers that open at once one is refused as not ready until it times out, and the other one admitted",
        (_REQUIREMENT,),
        capabilities=("producer",),
        client={"operation_timeout_ms": TIMEOUT_MS},
        topology=Topology(topics=(Topic(name="well"), Topic(name=_ILL))),
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
