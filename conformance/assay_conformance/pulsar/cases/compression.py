"""Compression in both directions: the bench reads what the client wrote, and the client what the bench stored."""

from __future__ import annotations

from typing import Any

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule
from assay_conformance.cases.stored import batch, compressed, garbled, plain, plains
from assay_conformance.model.case import Case, Isolation, Tier, Topology

CODECS = ("LZ4", "ZLIB", "ZSTD", "SNAPPY")

REQUIREMENTS = {
    "NONE": ("compression.uncompressed-size-exact",),
    "ZLIB": ("compression.interoperable-format", "compression.uncompressed-size-exact"),
}
"""Requirements of the Cases of sends, unless only the format is judged: a size can be judged only after
decompression."""

COMPRESSED_BYTES = 5_000
"""Every client compresses a body of so many bytes: the Java client leaves bodies below 4 KiB uncompressed, and few
applications set its `compression_min_bytes`."""

SIZES = (1, 16, 64, COMPRESSED_BYTES)
"""Some of these bodies grow when they are compressed; payloads of the suite do not shrink."""

SILENT_MS = 700
"""How long a consumer has for reporting what it could not read: longer than any answer takes."""


def sends(codec: str) -> Case:
    plan, producer = Schedule.with_producer()
    plan.agent("send", {"producer": producer, "messages": [{"size": size} for size in SIZES]})
    plan.wait_ops()
    return plan.case(
        f"compression/sends-{codec.lower()}",
        f"Messages of {', '.join(map(str, SIZES))} bytes are sent with compression {codec}",
        REQUIREMENTS.get(codec, ("compression.interoperable-format",)),
        producer={"compression": codec},
    )


def empty_bodies(codec: str) -> Case:
    """Send empty bodies, which give a decompressor an empty output buffer and are messages all the same."""
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    plan.send(producer, size=0)
    plan.send(producer, size=COMPRESSED_BYTES)
    plan.receive(consumer, 2, STARVED_MS)
    plan.wait_ops()
    return plan.case(
        f"compression/empty-{codec.lower()}",
        f"An empty message is sent with compression {codec}, and then one that is not empty",
        ("compression.interoperable-format", "robustness.edge-case-payloads-round-trip"),
        capabilities=("producer",),
        producer={"compression": codec},
        consumer=EARLIEST,
    )


def reads_every_codec() -> Case:
    plan = Schedule()
    entries = [compressed(codec, plain(number)) for number, codec in enumerate(CODECS)]
    firsts = range(len(CODECS), 4 * len(CODECS), 3)
    entries += [compressed(codec, batch(range(first, first + 3))) for first, codec in zip(firsts, CODECS, strict=True)]
    plan.consumer_of(entries, receives=16, timeout_ms=STARVED_MS)
    return plan.case(
        "compression/reads-every-codec",
        "A topic holds a message and a batch of three in each codec, as other clients write them",
        ("compression.interoperable-format",),
        consumer=EARLIEST,
    )


def _unreadable(words: str, title: str, entries: list[dict[str, Any]], **fields: Any) -> Case:
    """Send these entries and three readable ones after them to a consumer with a queue of two.

    Such input has crashed clients, so each Case has a process of its own.
    """
    plan, consumer = Schedule.with_consumer(stored=[*entries, *plains(range(100, 103))])
    plan.wait_ops(plan.receive(consumer, 3, timeout_ms=STARVED_MS))
    plan.wait_ms(SILENT_MS)
    return plan.case(
        f"compression/{words}",
        title,
        ("compression.decompression-error-reported",),
        consumer={**EARLIEST, "receiver_queue_size": 2},
        isolation=Isolation.OWN_PROCESS,
        **fields,
    )


def garbled_body(codec: str) -> Case:
    return _unreadable(
        f"corrupt-{codec.lower()}",
        f"A topic begins with two messages that name the codec {codec}, with bodies that are not in its format",
        [garbled(codec, number) for number in range(2)],
    )


def announced_too_small(codec: str) -> Case:
    return _unreadable(
        f"longer-than-announced-{codec.lower()}",
        f"A topic begins with two {codec} messages that are longer than their announced size",
        [compressed(codec, plain(number), uncompressed_size=10) for number in range(2)],
    )


def announced_too_large(codec: str) -> Case:
    return _unreadable(
        f"shorter-than-announced-{codec.lower()}",
        f"A topic begins with two {codec} messages that are shorter than their announced size",
        [compressed(codec, plain(number), uncompressed_size=200) for number in range(2)],
    )


def decompressed_beyond_limit() -> Case:
    return _unreadable(
        "decompressed-beyond-limit",
        "A topic begins with two compressed messages of 5,000 bytes, and the broker accepts 2,000",
        [compressed("LZ4", plain(number, size=5_000)) for number in range(2)],
        topology=Topology(max_message_bytes=2_000),
    )


def absurd_size() -> Case:
    """Announce an absurd size of a body of 64 bytes.

    A client that allocates the announced size needs so much memory that it should be alone.
    """
    plan = Schedule()
    absurd = compressed("LZ4", plain(0), uncompressed_size=2**31 - 1)
    plan.broker("store_entries", topic="t", entries=[absurd, *plains(range(100, 103))])
    consumer = plan.consumer(plan.client())
    plan.wait_ops(plan.receive(consumer, 3, timeout_ms=STARVED_MS))
    return plan.case(
        "compression/absurd-size",
        "A topic begins with a message that announces an uncompressed size of two gigabytes",
        ("compression.absurd-size-not-trusted",),
        capabilities=("consumer", "compression"),
        consumer=EARLIEST,
        isolation=Isolation.OWN_PROCESS,
        tier=Tier.FULL,
    )


CASES = (
    *(sends(codec) for codec in ("NONE", *CODECS)),
    *(empty_bodies(codec) for codec in CODECS),
    reads_every_codec(),
    *(make(codec) for make in (garbled_body, announced_too_small, announced_too_large) for codec in CODECS),
    decompressed_beyond_limit(),
    absurd_size(),
)
