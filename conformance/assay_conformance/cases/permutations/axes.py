"""The axes most Cases are indifferent to, and what each of their values changes in a Case.

Which Cases are not indifferent is in `concerned`; what no table has to say is read off the Case: one that sets a key
which a value sets has made its choice, one that opens no consumer has no subscription type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.model.case import Config


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an axis: configuration of all that is opened, fields of every message sent and of every topic, of
    the brokers' settings, and of what they announce.

    `capabilities` are those a client needs for it. `beside`: other keys that decide on the same matter. `counts`:
    commands of which there are more or fewer with it, so that a Case that goes by them is not asked. `once`: a step
    that the Case may have only once. `spoils`: broker steps that would mean something else.
    """

    word: str
    client: Config = field(default_factory=dict)
    producer: Config = field(default_factory=dict)
    consumer: Config = field(default_factory=dict)
    message: Mapping[str, Any] = field(default_factory=dict)
    topic: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    topology: Mapping[str, Any] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    once: str = ""
    spoils: frozenset[str] = frozenset()

    @property
    def configured(self) -> frozenset[str]:
        """The client's keys it sets."""
        return frozenset().union(self.client, self.producer, self.consumer)

    @property
    def keys(self) -> frozenset[str]:
        """A Case that sets one of them has made its choice."""
        return self.configured.union(self.message, self.topic, self.settings, self.topology, self.beside)

    @property
    def verbs(self) -> frozenset[str]:
        """Steps without which it changes nothing."""
        asked = {
            "open_client": self.client,
            "open_producer": self.producer,
            "open_consumer": self.consumer,
            "send": self.message,
        }
        return frozenset(verb for verb, fields in asked.items() if fields)


@dataclass(frozen=True, slots=True)
class Axis:
    """`plain` is the word for what a Case does by itself."""

    name: str
    plain: str
    values: tuple[Value, ...]


_OF_MESSAGES = ("SEND", "SEND_RECEIPT", "MESSAGE", "ACK")
_OF_TOPICS = (
    "LOOKUP",
    "LOOKUP_RESPONSE",
    "PRODUCER",
    "PRODUCER_SUCCESS",
    "SUBSCRIBE",
    "CLOSE_PRODUCER",
    "CLOSE_CONSUMER",
)
_OF_ONE_TOPIC = frozenset({"store_entries", "move", "unload", "restart", "terminate", "migrate", "grow", "delete"})


def _axis(name: str, plain: str, *values: Value) -> Axis:
    return Axis(name, plain, values)


def _type(word: str) -> Value:
    return Value(word.replace("_", "-"), consumer={"subscription_type": word}, beside=("durable", "cumulative"))


def _batched(word: str, *capabilities: str, **more: str) -> Value:
    return Value(
        word,
        producer={"batching": True, "batching_max_publish_delay_ms": 5, **more},
        capabilities=("batching", *capabilities),
        beside=(
            "batching_max_messages",
            "batching_max_bytes",
            "chunking",
            "max_pending_messages",
            "memory_limit_bytes",
        ),
        counts=_OF_MESSAGES,
    )


def _codec(word: str) -> Value:
    return Value(word.lower(), producer={"compression": word}, capabilities=("compression",))


def _partitions(word: str, count: int, **producer: str) -> Value:
    return Value(
        word,
        topic={"partitions": count},
        producer={**producer},
        capabilities=("partitioned_topics",),
        beside=("routing", "hashing_scheme", "partitions_update_ms", "durable", "persistent", "max_pending_messages"),
        counts=(*_OF_MESSAGES, *_OF_TOPICS),
        spoils=_OF_ONE_TOPIC if count > 1 else _OF_ONE_TOPIC - {"store_entries"},
    )


def _access(word: str) -> Value:
    return Value(
        word.replace("_", "-"),
        producer={"access_mode": word},
        capabilities=("access_modes",),
        beside=("lazy_start_partitioned_producers",),
        once="open_producer",
    )


def _protocol(version: int, *beside: str) -> Value:
    return Value(f"protocol-{version}", topology={"protocol_version": version}, beside=beside)


AXES: tuple[Axis, ...] = (
    _axis("subscription", "one-consumer", *(_type(word) for word in ("failover", "shared", "key_shared"))),
    _axis(
        "entries",
        "one-by-one",
        _batched("batched"),
        _batched("batched-by-key", "key_based_batcher", batching_type="key_based"),
        Value(
            "may-be-cut",
            producer={"chunking": True},
            capabilities=("chunking_producer",),
            beside=("batching", "max_message_bytes", "max_pending_messages"),
        ),
    ),
    _axis("compression", "uncompressed", *(_codec(word) for word in ("LZ4", "ZLIB", "ZSTD", "SNAPPY"))),
    _axis(
        "partitions",
        "whole",
        _partitions("1-partition", 1),
        _partitions("3-partitions", 3),
        _partitions("1-of-3-partitions", 3, routing="single"),
    ),
    _axis(
        "deduplication",
        "as-sent",
        Value(
            "deduplicated",
            topic={"deduplication": True},
            capabilities=("dedup_resume",),
            beside=("initial_sequence_id", "sequence_id", "persistent"),
        ),
    ),
    _axis(
        "producer",
        "anybody",
        Value("named", producer={"producer_name": "named"}, once="open_producer"),
        *(_access(word) for word in ("exclusive", "wait_for_exclusive", "exclusive_with_fencing")),
    ),
    _axis(
        "messages",
        "64-bytes",
        Value("16-bytes", message={"size": 16}, beside=("schema",)),
        Value("20-kib", message={"size": 20 * 1024}, beside=("schema",)),
        Value("keyed", message={"key": "k"}),
        Value("ordered-by-key", message={"key": "k", "ordering_key": "o"}),
        Value("with-properties", message={"properties": {"colour": "blue", "empty": ""}}),
    ),
    _axis(
        "room",
        "refuses",
        Value("blocks", producer={"block_if_queue_full": True}, beside=("max_pending_messages",)),
        Value("limited-memory", client={"memory_limit_bytes": 64 << 20}, capabilities=("memory_limit",)),
        Value("4-threads", client={"io_threads": 4}),
    ),
    _axis("prefetch", "prefetches-1000", Value("prefetches-3", consumer={"receiver_queue_size": 3})),
    _axis(
        "acks",
        "grouped",
        Value("ungrouped", consumer={"ack_group_ms": 0}, capabilities=("immediate_ack",)),
        Value("receipted", consumer={"ack_receipt": True}, capabilities=("ack_receipt",)),
        # Readers acknowledge by themselves.
        Value(
            "acks-members",
            consumer={"batch_index_ack": True},
            capabilities=("batch_index_ack",),
            beside=("durable",),
        ),
    ),
    _axis(
        "broker",
        "protocol-21",
        _protocol(19),
        # Older than receipts of acknowledgments, and than challenges.
        _protocol(13, "ack_receipt", "credentials", "tokens"),
        Value("short-ledgers", settings={"ledger_entries": 2}, beside=("persistent",)),
    ),
)
