"""Batches by key, open side by side: their sequence ids interleave."""

from __future__ import annotations

from assay_conformance.cases.batching import LONG, REQUIREMENT
from assay_conformance.cases.build import Schedule, up
from assay_conformance.cases.chunking import LIMIT_BYTES, SMALL
from assay_conformance.cases.dedup import DEDUPLICATED, NAMED
from assay_conformance.cases.resend import QUICK
from assay_conformance.model.case import Case, Config, Isolation
from assay_conformance.model.fault import Cut, Fault

KEYED: Config = {**LONG, "batching_type": "key_based"}
INTERLEAVED = ("a", "b", "b", "a", "a")
"""Keys whose batches are {a: 0, 3, 4} and {b: 1, 2}."""


def keys_apart() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
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
        "batching/keys-apart",
        "Nine messages by turns: of two keys, without a key, and of two keys under one ordering key",
        ("batching.one-key-per-entry", "batching.keyed-entry-tells-highest-id", "batching.keyed-entries-in-order"),
        producer=KEYED,
        limits=QUICK,
    )


def interleaved_keys() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    for _ in range(2):
        plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in INTERLEAVED]})
        plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/interleaved-keys",
        "Twice five messages of two keys by turns, with deduplication",
        ("batching.keyed-entries-in-order", "batching.keyed-entry-tells-highest-id"),
        topology=DEDUPLICATED,
        producer={**KEYED, **NAMED},
        limits=QUICK,
    )


def keyed_ids_across_an_early_reconnect() -> Case:
    """The broker's last id is as unknown after the reconnect as before: it must not set the numbers back."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    for _ in range(2):
        plan.agent("send", {"producer": producer, "messages": [{"key": key} for key in INTERLEAVED]})
        plan.wait_ops(plan.flush(producer))
    plan.wait_ops()
    return plan.case(
        "batching/keyed-ids-across-an-early-reconnect",
        "The connection dies with the very first entry of two keys, and later entries go by higher ids",
        ("batching.keyed-entries-in-order",),
        faults=(Fault(trigger=up("SEND"), action=Cut(before=True)),),
        producer=KEYED,
        limits=QUICK,
    )


def new_key_while_one_waits() -> Case:
    """Some clients have one timer for the batches of all keys, and start it anew with each key."""
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.agent("send", {"producer": producer, "messages": [{"key": "a"}]})
    plan.wait_ms(300)
    plan.agent("send", {"producer": producer, "messages": [{"key": "b"}]})
    plan.wait_ops()
    return plan.case(
        "batching/new-key-while-one-waits",
        "A batch leaves 500 ms after its first message, and has been open for 300 ms when one of another key comes",
        REQUIREMENT,
        capabilities=("key_based_batcher",),
        producer={**KEYED, "batching_max_publish_delay_ms": 500},
        limits=QUICK,
    )


def oversize_among_keys() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.agent("send", {"producer": producer, "messages": [{"key": "a"}, {"key": "b", "size": 2 * LIMIT_BYTES}]})
    plan.flush(producer)
    plan.wait_ops()
    return plan.case(
        "batching/oversize-among-keys",
        "Two messages by key, of which one is twice as large as the broker takes",
        ("robustness.operations-end",),
        capabilities=("key_based_batcher",),
        topology=SMALL,
        producer=KEYED,
        limits=QUICK,
        # What a client keeps of the limit is for its whole process, and the C++ core does not survive this.
        isolation=Isolation.OWN_PROCESS,
    )


CASES = (
    keys_apart(),
    interleaved_keys(),
    keyed_ids_across_an_early_reconnect(),
    new_key_while_one_waits(),
    oversize_among_keys(),
)
