"""Key-based batches that are open at the same time: their sequence ids interleave."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule, up
from assay_conformance.model.case import Case, Config
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases.batching.closing import LONG, REQUIREMENT
from assay_conformance.pulsar.cases.dedup.client import DEDUPLICATED, NAMED
from assay_conformance.pulsar.cases.resend.connections import QUICK

KEYED: Config = {**LONG, "batching_type": "key_based"}
INTERLEAVED = ("a", "b", "b", "a", "a")
"""Keys whose batches are {a: 0, 3, 4} and {b: 1, 2}."""


def key_based_batches() -> Case:
    plan, producer = Schedule.with_producer()
    messages = [
        *({"key": key} for key in INTERLEAVED),
        {},
        {"key": "a", "ordering_key": "o"},
        {},
        {"key": "b", "ordering_key": "o"},
    ]
    plan.agent("send", {"producer": producer, "messages": messages})
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/key-based-batches",
        "Nine alternating messages: with two keys, without a key, and with two keys under one ordering key",
        ("batching.key-based-one-key-per-batch", "batching.key-based-highest-sequence-id", "batching.key-based-order"),
        producer=KEYED,
        limits=QUICK,
    )


def key_based_interleaved_keys() -> Case:
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in INTERLEAVED]})
        plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/key-based-interleaved-keys",
        "Twice five messages that alternate between two keys, with deduplication",
        ("batching.key-based-order", "batching.key-based-highest-sequence-id"),
        topology=DEDUPLICATED,
        producer={**KEYED, **NAMED},
        limits=QUICK,
    )


def key_based_ids_after_early_reconnect() -> Case:
    """Reconnect before the broker has a last sequence id: its answer must not reset the producer's ids."""
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in INTERLEAVED]})
        plan.wait_ops(plan.flush(producer))
    plan.wait_ops()
    return plan.case(
        "batching/key-based-ids-after-early-reconnect",
        "The connection is lost at the very first entry of two keys, and later entries have higher sequence ids",
        ("batching.key-based-order",),
        faults=(Fault(trigger=up("SEND"), action=Cut(before=True)),),
        producer=KEYED,
        limits=QUICK,
    )


def key_based_new_key_within_delay() -> Case:
    """Send a message with a new key during the batch delay of another key. Some clients have one timer for the batches
    of all keys, and restart it with each new key.
    """
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"key": "a"}]})
    plan.wait_ms(300)
    plan.agent("send", {"producer": producer, "messages": [{"key": "b"}]})
    plan.wait_ops()
    return plan.case(
        "batching/key-based-new-key-within-delay",
        "A batch with a delay of 500 ms has been open for 300 ms when a message with another key is sent",
        REQUIREMENT,
        capabilities=("key_based_batcher",),
        producer={**KEYED, "batching_max_publish_delay_ms": 500},
        limits=QUICK,
    )
