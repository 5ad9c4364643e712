"""Every request that a call can make, without an answer: the call ends, and others of its client go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Config, Limits, Topic, Topology
from assay_conformance.model.fault import Drop, Fault, OnFrame
from assay_conformance.pulsar.cases.schema import FIRST, SECOND

TIMEOUT_MS: Final = 2_000
LIMITS: Final = Limits(operation_ms=4 * TIMEOUT_MS)
"""A client may check its time-outs only periodically, and make a second request in the same call."""

_TOPICS: Final = Topology(topics=(Topic(name="t"), Topic(name="beside")))


class _Request(NamedTuple):
    """`asks` appends the call to a plan that has a producer on another topic; `trigger` matches the answer."""

    words: str
    what: str
    trigger: OnFrame
    asks: Callable[[Schedule, int], int]
    capabilities: tuple[str, ...] = ("consumer",)
    consumer: Config | None = None


def _opens_producer(plan: Schedule, client: int) -> int:
    return plan.producer(client, wait=False)


def _opens_consumer(plan: Schedule, client: int) -> int:
    return plan.consumer(client, wait=False)


def _opens_pattern(plan: Schedule, client: int) -> int:
    return plan.consumer(client, ("t", "beside"), pattern=".*", wait=False)


def _reading(plan: Schedule, client: int) -> int:
    """Return a consumer that has received all messages."""
    consumer = plan.consumer(client)
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    return consumer


def _seeks(plan: Schedule, client: int) -> int:
    return plan.seek(_reading(plan, client), delivery=1)


def _acks(plan: Schedule, client: int) -> int:
    return plan.ack(_reading(plan, client))


def _unsubscribes(plan: Schedule, client: int) -> int:
    return plan.agent("unsubscribe", {"consumer": _reading(plan, client)})


def _closes_consumer(plan: Schedule, client: int) -> int:
    return plan.close(_reading(plan, client))


def _closes_producer(plan: Schedule, client: int) -> int:
    return plan.close(plan.producer(client))


def _asks_for_more(plan: Schedule, client: int) -> int:
    return plan.has_message_available(plan.consumer(client, durable=False, initial_position="latest"))


def _reads_value(plan: Schedule, client: int) -> int:
    return _value_by(plan, client)


def _reads_value_of_reader(plan: Schedule, client: int) -> int:
    return _value_by(plan, client, durable=False)


def _reads_value_of_listener(plan: Schedule, client: int) -> int:
    return _value_by(plan, client, listener=True)


def _reads_value_of_batch(plan: Schedule, client: int) -> int:
    return _value_by(plan, client, batch_receive_max_messages=4, batch_receive_timeout_ms=STARVED_MS)


def _value_by(plan: Schedule, client: int, **config: Any) -> int:
    """Read the value of a message that was written with another schema version than the reader's own."""
    plan.wait_ops(plan.send(plan.producer(client, **FIRST)))
    plan.wait_ops(plan.close(plan.producer(client, **SECOND)))
    consumer = plan.consumer(client, **SECOND, **config)
    # Entries that a step of the broker stored name no version.
    in_batches = "batch_receive_max_messages" in config
    plan.wait_ops(plan.batch_receive(consumer) if in_batches else plan.receive(consumer, 4, STARVED_MS))
    return plan.value(consumer, messages=(4,))


def _to(command: str) -> OnFrame:
    """Return the trigger for every SUCCESS of a request, however often that is repeated."""
    return down("SUCCESS", answers=command, times=0)


_SCHEMA: Final = down("GET_SCHEMA_RESPONSE", times=0)

# The other producer's requests come first and are answered: the second and later answers are lost.
REQUESTS: Final = (
    _Request("lookup", "LOOKUP", down("LOOKUP_RESPONSE", k=2, times=0), _opens_producer, ("producer",)),
    _Request(
        "partition-metadata",
        "PARTITIONED_METADATA",
        down("PARTITIONED_METADATA_RESPONSE", k=2, times=0),
        _opens_producer,
        ("producer", "partitioned_topics"),
    ),
    _Request("producer", "PRODUCER", down("PRODUCER_SUCCESS", k=2, times=0), _opens_producer, ("producer",)),
    _Request("subscribe", "SUBSCRIBE", _to("SUBSCRIBE"), _opens_consumer),
    _Request(
        "topics-of-namespace",
        "GET_TOPICS_OF_NAMESPACE",
        down("GET_TOPICS_OF_NAMESPACE_RESPONSE", times=0),
        _opens_pattern,
        ("consumer", "topic_patterns"),
    ),
    _Request("seek", "SEEK", _to("SEEK"), _seeks, ("consumer", "seek")),
    _Request("unsubscribe", "UNSUBSCRIBE", _to("UNSUBSCRIBE"), _unsubscribes, ("consumer", "unsubscribe")),
    _Request("close-consumer", "CLOSE_CONSUMER", _to("CLOSE_CONSUMER"), _closes_consumer),
    _Request("close-producer", "CLOSE_PRODUCER", _to("CLOSE_PRODUCER"), _closes_producer, ("producer",)),
    _Request(
        "last-message-id",
        "GET_LAST_MESSAGE_ID",
        down("GET_LAST_MESSAGE_ID_RESPONSE", times=0),
        _asks_for_more,
        ("consumer", "reader", "has_message_available"),
    ),
    _Request("schema", "GET_SCHEMA", _SCHEMA, _reads_value, ("consumer", "schema")),
    _Request("schema-reader", "GET_SCHEMA", _SCHEMA, _reads_value_of_reader, ("consumer", "reader", "schema")),
    _Request(
        "schema-listener", "GET_SCHEMA", _SCHEMA, _reads_value_of_listener, ("consumer", "message_listener", "schema")
    ),
    _Request("schema-batch", "GET_SCHEMA", _SCHEMA, _reads_value_of_batch, ("consumer", "batch_receive", "schema")),
    _Request(
        "ack",
        "ACK",
        down("ACK_RESPONSE", times=0),
        _acks,
        ("consumer", "ack_receipt"),
        {"ack_receipt": True},
    ),
)


def judged_by(request: str) -> tuple[str, ...]:
    """Return the requirements about how a call ends whose request gets an error or no answer."""
    ends = {"ACK": (), "GET_SCHEMA": (), "UNSUBSCRIBE": ("subscription.unsubscribe-ends-subscription",)}
    return ("robustness.calls-do-not-hang", *ends.get(request, ("robustness.success-needs-answer",)))


def unanswered(request: _Request) -> Case:
    """Leave a request unanswered while a producer of the same client sends."""
    plan, client = Schedule.with_client(stored=plains(range(3)))
    beside = plan.producer(client, "beside")
    asked = request.asks(plan, client)
    plan.wait_ops(plan.send(beside, 3))
    plan.wait_ops(asked)
    return plan.case(
        f"robustness/unanswered-{request.words}",
        f"{request.what} never gets an answer, while another producer of the client sends",
        judged_by(request.what),
        capabilities=tuple(dict.fromkeys(("producer", *request.capabilities))),
        client={"operation_timeout_ms": TIMEOUT_MS},
        consumer={**EARLIEST, **(request.consumer or {})},
        topology=_TOPICS,
        faults=(Fault(trigger=request.trigger, action=Drop()),),
        limits=LIMITS,
    )


CASES = tuple(map(unanswered, REQUESTS))
"""Cases of the chapter robustness."""
