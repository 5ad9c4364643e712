"""Batches by key, open side by side: their sequence ids interleave."""

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
        "Nine messages by turns: of two keys, without a key, and of two keys under one ordering key",
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
        "Twice five messages of two keys by turns, with deduplication",
        ("batching.key-based-order", "batching.key-based-highest-sequence-id"),
        topology=DEDUPLICATED,
        producer={**KEYED, **NAMED},
        limits=QUICK,
    )


def key_based_ids_after_early_reconnect() -> Case:
    """Reconnect before the broker knows a last id: its answer must not set the numbers back."""
    plan, producer = Schedule.with_producer()
    for _ in range(2):
        plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in INTERLEAVED]})
        plan.wait_ops(plan.flush(producer))
    plan.wait_ops()
    return plan.case(
        "batching/key-based-ids-after-early-reconnect",
        "The connection dies with the very first entry of two keys, and later entries go by higher ids",
        ("batching.key-based-order",),
        faults=(Fault(trigger=up("SEND"), action=Cut(before=True)),),
        producer=KEYED,
        limits=QUICK,
    )


def key_based_new_key_within_delay() -> Case:
    """Send a new key within the delay of another one.

    Some clients have one timer for the batches of all keys, and restart it with each key.
    """
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"key": "a"}]})
    plan.wait_ms(300)
    plan.agent("send", {"producer": producer, "messages": [{"key": "b"}]})
    plan.wait_ops()
    return plan.case(
        "batching/key-based-new-key-within-delay",
        "A batch leaves 500 ms after its first message, and has been open for 300 ms when one of another key comes",
        REQUIREMENT,
        capabilities=("key_based_batcher",),
        producer={**KEYED, "batching_max_publish_delay_ms": 500},
        limits=QUICK,
    )
