"""Values with a schema: stated by producers and consumers, named in messages, requested by version, and refused.

The payload of a message is a record of one fixed field, so that its encoding is the payload itself. The second and the
third schema have one more field each, of no bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from assay_conformance.cases.build import DEFAULT_PAYLOAD_BYTES, EARLIEST, STARVED_MS, Schedule
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.pulsar.cases.resend.connections import QUICK, cut_at_send

_PAYLOAD: Final = {"name": "payload", "type": {"type": "fixed", "name": "Payload", "size": DEFAULT_PAYLOAD_BYTES}}
_NOTE: Final = {"name": "note", "type": "null", "default": None}
_OTHER: Final = {"name": "number", "type": "long"}


def _record(*fields: dict[str, Any]) -> dict[str, Any]:
    definition = json.dumps({"type": "record", "name": "Message", "fields": fields})
    return {"schema": "avro", "schema_definition": definition}


FIRST: Final = _record(_PAYLOAD)
SECOND: Final = _record(_PAYLOAD, _NOTE)
THIRD: Final = _record(_PAYLOAD, _NOTE, {**_NOTE, "name": "further"})
UNRELATED: Final = _record(_OTHER)
STRING: Final[dict[str, Any]] = {"schema": "string"}


def exchange() -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client, **FIRST), plan.producer(client, **FIRST)
    plan.send(producer, 3)
    plan.receive(consumer, 3, wait=True)
    plan.wait_ops(plan.value(consumer))
    plan.ack(consumer)
    return plan.case(
        "schema/exchange",
        "Three values of one schema are sent, received and read",
        ("schema.stated-in-registrations", "schema.version-in-metadata"),
        capabilities=("producer", "consumer", "schema"),
    )


def _by_receive(plan: Schedule, consumer: int) -> None:
    plan.receive(consumer, 3, wait=True)


def _by_batch(plan: Schedule, consumer: int) -> None:
    plan.wait_ops(plan.batch_receive(consumer))


def read_by(
    way: str, takes: Callable[[Schedule, int], None], *capabilities: str, listener: bool = False, **config: Any
) -> Case:
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.send(plan.producer(client, **FIRST), 3))
    consumer = plan.consumer(client, listener=listener, **FIRST, **config)
    takes(plan, consumer)
    plan.wait_ops(plan.value(consumer, messages=(1, 2, 3)))
    return plan.case(
        f"schema/read-by-{way.replace(' ', '-')}",
        f"Three values of one schema are delivered by a {way}, and read",
        ("schema.own-values-are-read",),
        capabilities=("producer", "consumer", "schema", *capabilities),
        consumer=EARLIEST,
    )


def stated_again() -> Case:
    plan, producer = Schedule.with_producer(**FIRST)
    plan.wait_ops(plan.send(producer))
    plan.wait_ops(plan.send(producer))
    return plan.case(
        "schema/stated-again-on-reconnect",
        "A producer with a schema reconnects",
        ("schema.stated-in-registrations", "schema.version-in-metadata"),
        capabilities=("producer", "schema", "resend_pending"),
        faults=(cut_at_send(2),),
        limits=QUICK,
    )


def batched() -> Case:
    plan, producer = Schedule.with_producer(**FIRST)
    plan.send(producer, 4)
    plan.wait_ops()
    return plan.case(
        "schema/batched",
        "Values of a schema are sent in batches of two",
        ("schema.version-in-metadata",),
        capabilities=("producer", "schema", "batching"),
        producer={"batching": True, "batching_max_messages": 2, "batching_max_publish_delay_ms": 50},
    )


def two_versions(*, durable: bool, partitions: int = 0) -> Case:
    """Send with two schemas to a consumer with a third one."""
    plan, client = Schedule.with_client()
    for schema in (FIRST, SECOND):
        plan.wait_ops(plan.send(plan.producer(client, **schema), 3))
    reads: dict[str, Any] = {} if durable else {"durable": False}
    consumer = plan.consumer(client, **THIRD, **reads)
    plan.receive(consumer, 6, wait=True)
    plan.value(consumer, messages=tuple(range(1, 7)))
    plan.wait_ops()
    kind = "consumer" if durable else "reader"
    return plan.case(
        f"schema/two-versions-{kind}" + ("-partitioned" if partitions else ""),
        f"A {kind} reads values of two versions of a schema",
        ("schema.asks-for-written-version", "schema.versions-kept-apart", "schema.version-in-metadata"),
        capabilities=("producer", "consumer", "schema")
        + (() if durable else ("reader",))
        + (("partitioned_topics",) if partitions else ()),
        consumer=EARLIEST,
        topology=Topology(topics=(Topic(name="t", partitions=partitions),)),
    )


def refused(kind: str, words: str, schema: dict[str, Any]) -> Case:
    """Refuse a schema on a topic that has a schema, and messages."""
    plan, client = Schedule.with_client()
    first = plan.producer(client, **FIRST)
    plan.wait_ops(plan.send(first))
    plan.wait_ops(plan.close(first))
    plan.wait_ops((plan.producer if kind == "producer" else plan.consumer)(client, wait=False, **schema))
    plan.wait_ms(500)  # shows whether it tries again
    requirements = ("schema.incompatible-is-final", *(("schema.other-type-refused",) if schema == STRING else ()))
    return plan.case(
        f"schema/{kind}-{words}-refused",
        f"A {kind} states a schema that does not fit the topic's",
        requirements,
        capabilities=("producer", "schema", *(("consumer",) if kind == "consumer" else ())),
        client={"operation_timeout_ms": 5_000},
    )


CASES = (
    exchange(),
    read_by("receive", _by_receive),
    read_by("handler", _by_receive, "message_listener", listener=True),
    read_by("reader", _by_receive, "reader", durable=False),
    read_by(
        "batch receive",
        _by_batch,
        "batch_receive",
        batch_receive_max_messages=3,
        batch_receive_timeout_ms=STARVED_MS,
    ),
    stated_again(),
    batched(),
    two_versions(durable=True),
    two_versions(durable=False),
    two_versions(durable=True, partitions=2),
    refused("producer", "other-type", STRING),
    refused("consumer", "other-type", STRING),
    refused("producer", "other-fields", UNRELATED),
    refused("consumer", "other-fields", UNRELATED),
)
