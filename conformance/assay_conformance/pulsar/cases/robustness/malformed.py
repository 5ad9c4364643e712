"""Cases for malformed input other than damaged bytes, and for messages at the limits of what the protocol allows."""

from __future__ import annotations

from assay_conformance.cases import stored
from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down
from assay_conformance.cases.stored import batch, empties, foreign_key, null_value, plain, plains
from assay_conformance.model.case import Case, Isolation
from assay_conformance.model.fault import Corrupt, Fault, Inject, Part

LARGEST_PROPERTY_BYTES = 300_000
"""Larger than any metadata buffer of a client, and allowed in a frame."""
SETTLED_MS = 700
"""Time that shows what a client does not do: longer than any answer takes."""

BACK_MS = 1_200
"""Time in which a client has reconnected: longer than any answer and a reconnect after it take."""

TOO_LONG = bytes.fromhex("04000000 00000002 0812".replace(" ", ""))
"""The beginning of a frame of 64 MiB, which is longer than any frame may be."""

COMMAND_TOO_LONG = bytes.fromhex("00000006 00001000 0812".replace(" ", ""))
"""A frame of six bytes whose command has 4,096."""

NO_COMMAND = bytes.fromhex("00000008 00000004 ffffffff".replace(" ", ""))
"""A frame whose command cannot be decoded."""

UNKNOWN_COMMAND = bytes.fromhex("00000007 00000003 08e707".replace(" ", ""))
"""A command of type 999, which is undefined."""


def corrupt_batch() -> Case:
    """Store a corrupt batch, for a process of its own: a client that trusts its lengths may read out of bounds."""
    plan = Schedule()
    plan.consumer_of([plain(0), stored.bad_batch(1), batch([2, 3])], receives=3, timeout_ms=STARVED_MS)
    plan.wait_ms(SETTLED_MS)
    return plan.case(
        "robustness/corrupt-batch",
        "A batch that cannot be decoded is stored between two readable entries",
        ("robustness.corrupt-batch-reported",),
        isolation=Isolation.OWN_PROCESS,
        consumer=EARLIEST,
    )


def corrupt_metadata() -> Case:
    plan = Schedule()
    plan.consumer_of(plains(range(4)), receives=3, timeout_ms=STARVED_MS)
    plan.wait_ms(SETTLED_MS)
    return plan.case(
        "robustness/corrupt-metadata",
        "The metadata of the second of four messages cannot be decoded, and its checksum is valid",
        ("robustness.corrupt-metadata-discarded",),
        consumer=EARLIEST,
        faults=(Fault(trigger=down("MESSAGE", k=2), action=Corrupt(part=Part.METADATA, fix_checksum=True)),),
    )


def _injected(words: str, title: str, requirement: str, raw: bytes) -> Case:
    """Inject bytes; the client only has to close the connection. It can read nothing more on it, so nothing else is
    judged.
    """
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer)
    plan.receive(consumer, 1, STARVED_MS)
    plan.wait_ops()
    plan.wait_ms(BACK_MS)
    return plan.case(
        f"robustness/{words}",
        title,
        (requirement,),
        capabilities=("producer", "consumer"),
        isolation=Isolation.OWN_PROCESS,
        client={"operation_timeout_ms": 1_000},
        consumer=EARLIEST,
        faults=(Fault(trigger=down("SEND_RECEIPT"), action=Inject(raw=raw)),),
    )


def edge_case_messages() -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, size=0)
    plan.send(producer, size=1)
    plan.send(producer, size=0, properties={"of": "an empty message"})
    plan.send(producer, key="")
    plan.send(producer, key="\N{GREEK SMALL LETTER PI} \N{BLACK HEART SUIT}")
    plan.send(producer, properties={"large": "x" * 65_536, "empty": "", "\N{SNOWMAN}": "\N{UMBRELLA}"})
    plan.send(producer, properties={"larger": "x" * LARGEST_PROPERTY_BYTES})
    plan.send(producer, event_time_ms=0)
    plan.send(producer, event_time_ms=1)
    plan.receive(consumer, 9, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "robustness/edge-case-messages",
        "Messages have empty and tiny payloads, empty and non-ASCII keys, large properties, an event time of 0",
        ("robustness.edge-case-payloads-round-trip", "robustness.edge-case-metadata-round-trip"),
        capabilities=("producer",),
        consumer=EARLIEST,
    )


def edge_case_messages_in_a_batch() -> Case:
    """Send one batch of messages, each with something of its own."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, size=0)
    plan.send(producer, size=0, properties={"of": "an empty message"})
    plan.send(producer, key="")
    plan.send(producer, key="\N{GREEK SMALL LETTER PI} \N{BLACK HEART SUIT}")
    plan.send(producer, properties={"empty": "", "\N{SNOWMAN}": "\N{UMBRELLA}"})
    plan.send(producer, event_time_ms=1)
    plan.send(producer, event_time_ms=2)
    plan.receive(consumer, 7, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "robustness/edge-case-messages-in-a-batch",
        "A batch holds empty messages, empty and non-ASCII keys, properties, and two event times",
        ("robustness.edge-case-payloads-round-trip", "robustness.edge-case-metadata-round-trip"),
        capabilities=("producer",),
        producer={"batching": True, "batching_max_messages": 7},
        consumer=EARLIEST,
    )


def edge_case_entries() -> Case:
    plan = Schedule()
    plan.broker(
        "store_entries",
        topic="t",
        entries=[null_value(0), foreign_key(1), empties(2), plain(4)],
    )
    consumer = plan.consumer(plan.client())
    plan.receive(consumer, 5, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        "robustness/edge-case-entries",
        "A null value, a key that is not text, and a batch of empty messages are sent",
        ("robustness.edge-case-payloads-round-trip", "robustness.edge-case-metadata-round-trip"),
        consumer=EARLIEST,
    )


CASES = (
    corrupt_batch(),
    corrupt_metadata(),
    _injected(
        "frame-too-long",
        "The broker announces a frame of 64 MiB",
        "robustness.malformed-frame-closes-connection",
        TOO_LONG,
    ),
    _injected(
        "command-too-long",
        "The broker sends a command that is longer than its frame",
        "robustness.malformed-frame-closes-connection",
        COMMAND_TOO_LONG,
    ),
    _injected(
        "frame-without-command",
        "The broker sends a frame without a readable command",
        "robustness.malformed-frame-closes-connection",
        NO_COMMAND,
    ),
    _injected(
        "unknown-command",
        "The broker sends a command of the undefined type 999",
        "robustness.unknown-command-ignored",
        UNKNOWN_COMMAND,
    ),
    edge_case_messages(),
    edge_case_messages_in_a_batch(),
    edge_case_entries(),
)
