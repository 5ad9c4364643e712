"""Cases for chunked messages: sent, assembled, repeated and interrupted.

A Case that lowers the broker's message limit has a process of its own: in some clients (the C++ core is one) the limit
that any broker announced last holds for the whole process.
"""

from __future__ import annotations

from assay_conformance.cases.build import ACKS_FLUSHED_MS, EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import chunks, plain
from assay_conformance.model.case import Case, Config, Isolation, Topic, Topology
from assay_conformance.model.fault import Cut, Duplicate, Fault, Hold, Scope

LIMIT_BYTES = 16 * 1024
SMALL = Topology(max_message_bytes=LIMIT_BYTES)
# Such a Case has a process of its own: the C++ client keeps one max_message_size for all of its connections.
LARGE_BYTES = 50_000
"""Four chunks under that limit, the last of them short."""

SET_BYTES = LIMIT_BYTES // 4
CHUNKING: Config = {"chunking": True, "batching": False}

RECEIVE_MS = STARVED_MS
"""How long a receive waits for a message that has been stored."""


def large_message() -> Case:
    plan, client = Schedule.with_client()
    consumer = plan.consumer(client)
    producer = plan.producer(client)
    plan.send(producer, size=LARGE_BYTES)
    plan.send(producer, size=100)
    plan.receive(consumer, 2, RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "chunking/large-message",
        "A message of four chunks and a small one after it are sent and received",
        ("chunking.splits-large-message", "chunking.delivers-whole-only"),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
    )


def compressed_message() -> Case:
    plan, client = Schedule.with_client()
    consumer = plan.consumer(client)
    producer = plan.producer(client, compression="ZLIB")
    plan.send(producer, size=LARGE_BYTES)
    plan.receive(consumer, 1, RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "chunking/compressed-message",
        "A compressed message of several chunks is sent and received",
        ("chunking.splits-large-message", "chunking.delivers-whole-only"),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
        capabilities=("compression",),
    )


def chunks_with_long_properties() -> Case:
    """Send a payload for four chunks with metadata of a quarter of the limit: it needs more chunks."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES, properties={"long": "x" * (LIMIT_BYTES // 4)}))
    return plan.case(
        "chunking/chunks-with-long-properties",
        "A message of several chunks has properties of 4 KiB",
        ("chunking.chunks-fit-max-message-size", "chunking.uuid-identifies-message"),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
    )


def chunk_max_message_size() -> Case:
    """Send chunks of the configured size; the broker would accept larger ones."""
    plan, producer = Schedule.with_producer()
    for size in (SET_BYTES + 1, 3 * SET_BYTES, LARGE_BYTES):
        plan.wait_ops(plan.send(producer, size=size))
    return plan.case(
        "chunking/chunk-max-message-size",
        "With chunks of a quarter of the broker's limit: a message a byte longer, one three times as long, and one "
        "beyond the limit",
        ("chunking.chunk-max-message-size",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={**CHUNKING, "chunk_max_message_bytes": SET_BYTES},
        capabilities=("chunk_size_setting",),
    )


def metadata_leaves_no_room() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, size=LARGE_BYTES, properties={"long": "x" * (LIMIT_BYTES + 1_000)})
    plan.send(producer, size=100)
    plan.wait_ops()
    return plan.case(
        "chunking/metadata-leaves-no-room",
        "A message with properties beyond the size limit fails, and the next one is sent",
        ("chunking.chunks-fit-max-message-size",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={**CHUNKING, "send_timeout_ms": 1_000},
    )


def batching_and_chunking() -> Case:
    """Open a producer with batching and chunking. If it opens, a large message shows whether it sends chunks."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    return plan.case(
        "chunking/batching-and-chunking",
        "A producer is opened with batching and chunking",
        ("chunking.excludes-batching",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={"chunking": True, "batching": True},
    )


def oversize_without_chunking() -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer, size=100)
    plan.send(producer, 2, size=LARGE_BYTES)
    plan.send(producer, 2, size=100)
    plan.wait_ops()
    return plan.case(
        "chunking/oversize-without-chunking",
        "Two messages beyond the broker's limit and small ones around them, without chunking",
        ("chunking.disabled-rejects-oversize",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer={"chunking": False, "batching": False, "send_timeout_ms": 1_000},
    )


def last_chunk_missing() -> Case:
    plan = Schedule()
    plan.consumer_of([*chunks(0, 3)[:2], *chunks(1, 3), plain(2)], receives=2, timeout_ms=RECEIVE_MS)
    return plan.case(
        "chunking/last-chunk-missing",
        "Two of three chunks, then a complete chunked message, then a small one",
        ("chunking.delivers-whole-only",),
        consumer=EARLIEST,
    )


def middle_chunk_missing() -> Case:
    first, _, last = chunks(0, 3)
    plan = Schedule()
    plan.consumer_of([first, last, *chunks(1, 3), plain(2)], receives=2, timeout_ms=RECEIVE_MS)
    return plan.case(
        "chunking/middle-chunk-missing",
        "The first and the last of three chunks, then a complete chunked message, then a small one",
        ("chunking.delivers-whole-only",),
        consumer=EARLIEST,
    )


def chunks_interleaved() -> Case:
    plan = Schedule()
    entries = [chunk for pair in zip(chunks(0, 3), chunks(1, 3), strict=True) for chunk in pair]
    plan.consumer_of(entries, receives=2, timeout_ms=RECEIVE_MS)
    return plan.case(
        "chunking/chunks-interleaved",
        "The chunks of two messages are interleaved",
        ("chunking.delivers-whole-only",),
        consumer=EARLIEST,
    )


def chunk_sent_twice() -> Case:
    """Receive what was stored by a producer that did not get the receipts of chunks 1 and 2."""
    first, second, third, last = chunks(0, 4)
    plan, consumer = Schedule.with_consumer_of(
        [first, second, third, second, third, last], receives=1, timeout_ms=RECEIVE_MS
    )
    plan.wait_ms(ACKS_FLUSHED_MS)
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "chunking/chunk-sent-twice",
        "Two chunks of four are stored twice",
        ("chunking.repeated-chunk-dropped",),
        consumer={**EARLIEST, "ack_group_ms": 100},
    )


def chunk_redelivered() -> Case:
    plan, consumer = Schedule.with_consumer_of(chunks(0, 4), receives=1, timeout_ms=RECEIVE_MS)
    plan.wait_ms(ACKS_FLUSHED_MS)
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "chunking/chunk-redelivered",
        "The second chunk of four is delivered twice, as the same entry",
        ("chunking.repeated-chunk-dropped",),
        consumer={**EARLIEST, "ack_group_ms": 100},
        faults=(Fault(trigger=down("MESSAGE", where={"metadata.chunk_id": 1}), action=Duplicate()),),
    )


def cut_after_chunk(chunk: int) -> Case:
    """Cut the connection before the receipt of a chunk, and hold the next chunk: so what is stored and receipted by
    then does not depend on the broker's latency.
    """
    plan, consumer = Schedule.with_consumer()
    producer = plan.producer(plan.client())
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    plan.receive(consumer, 1, RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        f"chunking/cut-after-chunk-{chunk}",
        f"The producer's connection is lost after chunk {chunk} of four",
        ("chunking.survives-reconnect", "delivery.successful-send-is-stored"),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
        faults=(
            # Before the producer registers again. A broker with a low latency has cut it by then.
            Fault(
                trigger=up("SEND", where={"metadata.chunk_id": chunk + 1}),
                action=Hold(),
                scope=Scope(session=0),
                optional=True,
            ),
            Fault(trigger=down("SEND_RECEIPT", k=chunk + 1), action=Cut(before=True)),
        ),
    )


def cut_after_last_chunk() -> Case:
    """Cut the connection when everything is stored and no receipt has come: only deduplication prevents a second
    copy."""
    plan, consumer = Schedule.with_consumer()
    producer = plan.producer(plan.client(), producer_name="chunker")
    plan.wait_ops(plan.send(producer, size=LARGE_BYTES))
    plan.receive(consumer, 1, RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        "chunking/cut-after-last-chunk",
        "The producer's connection is lost after the last chunk, with deduplication enabled",
        ("chunking.survives-reconnect",),
        topology=Topology(max_message_bytes=LIMIT_BYTES, topics=(Topic(name="t", deduplication=True),)),
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer=EARLIEST,
        faults=(Fault(trigger=up("SEND", where={"metadata.chunk_id": 3}), action=Cut()),),
    )


def _sought(words: str, title: str, **config: bool) -> Case:
    plan, client = Schedule.with_client()
    consumer, producer = plan.consumer(client), plan.producer(client)
    for size in (100, LARGE_BYTES, 100):
        plan.send(producer, size=size)
    plan.wait_ops(plan.receive(consumer, 3, RECEIVE_MS))
    plan.wait_ops(plan.seek(consumer, delivery=2))
    plan.receive(consumer, 1 + bool(config), RECEIVE_MS)
    plan.wait_ops()
    return plan.case(
        f"chunking/{words}",
        title,
        ("chunking.message-id-spans-chunks",),
        topology=SMALL,
        isolation=Isolation.OWN_PROCESS,
        producer=CHUNKING,
        consumer={**EARLIEST, **config},
    )


def seek_to_chunked_message() -> Case:
    return _sought(
        "seek-to-chunked-message",
        "A message of four chunks between two small ones is sent and received, and the consumer seeks it",
    )


def inclusive_seek_to_chunked_message() -> Case:
    return _sought(
        "inclusive-seek-to-chunked-message",
        "A consumer with start_inclusive seeks to a message of four chunks between two small ones, and receives it "
        "again",
        start_inclusive=True,
    )


CASES = (
    seek_to_chunked_message(),
    inclusive_seek_to_chunked_message(),
    large_message(),
    compressed_message(),
    chunks_with_long_properties(),
    chunk_max_message_size(),
    metadata_leaves_no_room(),
    batching_and_chunking(),
    oversize_without_chunking(),
    last_chunk_missing(),
    middle_chunk_missing(),
    chunks_interleaved(),
    chunk_sent_twice(),
    chunk_redelivered(),
    cut_after_chunk(0),
    cut_after_chunk(1),
    cut_after_chunk(2),
    cut_after_last_chunk(),
)
