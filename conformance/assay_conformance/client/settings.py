"""What can be set of a client, a producer and a consumer: one field for each of the suite's configuration keys.

Defaults are those of the Java and C++ clients, except that batching is off unless asked for. Milliseconds and bytes
throughout; 0 means never, unlimited or at once, as each field says.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec

from assay_conformance.model.case import Config
from assay_conformance.model.doors import MalformedError, convert
from assay_conformance.model.errors import UsageError

Unsigned = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Multiplier = Annotated[float, msgspec.Meta(ge=1)]
Properties = Annotated[str, msgspec.Meta(pattern="^([^=,]+=[^,]*(,[^=,]+=[^,]*)*)?$")]
"""`name=value`, separated by commas."""
Ranges = Annotated[str, msgspec.Meta(pattern="^([0-9]+-[0-9]+(,[0-9]+-[0-9]+)*)?$")]
"""`first-last`, separated by commas."""


class Compression(StrEnum):
    NONE = "NONE"
    LZ4 = "LZ4"
    ZLIB = "ZLIB"
    ZSTD = "ZSTD"
    SNAPPY = "SNAPPY"


class BatchingType(StrEnum):
    DEFAULT = "default"
    KEY_BASED = "key_based"


class AccessMode(StrEnum):
    SHARED = "shared"
    EXCLUSIVE = "exclusive"
    WAIT_FOR_EXCLUSIVE = "wait_for_exclusive"
    EXCLUSIVE_WITH_FENCING = "exclusive_with_fencing"


class Routing(StrEnum):
    SINGLE = "single"
    ROUND_ROBIN = "round_robin"


class HashingScheme(StrEnum):
    """How a key chooses its partition."""

    JAVA_STRING = "java_string"
    MURMUR3_32 = "murmur3_32"


class SubscriptionType(StrEnum):
    EXCLUSIVE = "exclusive"
    SHARED = "shared"
    FAILOVER = "failover"
    KEY_SHARED = "key_shared"


class SchemaType(StrEnum):
    """Of what applications send and receive as values. Bytes are no schema: brokers learn of the others."""

    BYTES = "bytes"
    STRING = "string"
    JSON = "json"
    AVRO = "avro"


class InitialPosition(StrEnum):
    EARLIEST = "earliest"
    LATEST = "latest"


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ClientSettings(_Settings, frozen=True):
    """`io_threads` is taken and without effect: this client has no threads. `memory_limit_bytes` 0 = unlimited.
    `listener_threads`: so many message handlers run at once.
    `max_concurrent_lookups`: so many lookups and requests for partitions wait for their answers on a connection.
    `tokens`, separated by commas: what to authenticate with, the next one whenever credentials are asked for; the last
    one stays. None = no authentication.
    `interface` is taken and without effect: this client has one.
    `credentials` says the same of a supplier that may be late, fail, or have no bytes to give (`model.credentials`).
    `tls_trust_certs` is a PEM file with the authorities to trust; None = those of the machine.
    """

    operation_timeout_ms: Positive = 30_000
    connection_timeout_ms: Positive = 10_000
    keep_alive_ms: Positive = 30_000
    io_threads: Positive = 1
    listener_threads: Positive = 1
    max_concurrent_lookups: Positive = 50_000
    memory_limit_bytes: Unsigned = 0
    tls_trust_certs: str | None = None
    tokens: str | None = None
    credentials: str | None = None
    interface: str = "blocking"


class ProducerSettings(_Settings, frozen=True):
    """`send_timeout_ms` and `partitions_update_ms` 0 = never. `max_pending_messages` and
    `max_pending_across_partitions` 0 = unlimited. `hashing_scheme` None = the default, JavaStringHash.
    `chunk_max_message_bytes` 0 = chunks are as large as the broker takes.
    `compression_min_bytes`: bodies of fewer bytes are not compressed.
    `batching_partition_switch_frequency` is how many publish delays a window of round robin lasts.
    `initial_sequence_id` precedes the first.
    `lazy_start_partitioned_producers`: the producer of a partition opens when a message is to go there first.
    `schema` None = bytes; `schema_definition` is the Avro schema, as JSON, of `json` and `avro`.
    """

    producer_name: str | None = None
    send_timeout_ms: Unsigned = 30_000
    batching: bool = False
    batching_max_messages: Positive = 1000
    batching_max_bytes: Positive = 128 * 1024
    batching_max_publish_delay_ms: Positive = 10
    batching_type: BatchingType = BatchingType.DEFAULT
    chunking: bool = False
    chunk_max_message_bytes: Unsigned = 0
    compression: Compression = Compression.NONE
    compression_min_bytes: Unsigned = 0
    max_pending_messages: Unsigned = 1000
    block_if_queue_full: bool = False
    initial_sequence_id: Unsigned | None = None
    access_mode: AccessMode = AccessMode.SHARED
    routing: Routing = Routing.ROUND_ROBIN
    hashing_scheme: HashingScheme | None = None
    max_pending_across_partitions: Unsigned = 0
    batching_partition_switch_frequency: Unsigned = 10
    partitions_update_ms: Unsigned = 60_000
    lazy_start_partitioned_producers: bool = False
    schema: SchemaType | None = None
    schema_definition: str | None = None
    properties: Properties = ""


class ConsumerSettings(_Settings, frozen=True):
    """`receiver_queue_size` 0 = no prefetch: one message is asked for when the application waits for one.
    `ack_group_ms` 0 = every acknowledgment at once. `ack_timeout_ms` (MIN_ACK_TIMEOUT_MS at least) and
    `partitions_update_ms` 0 = never.

    `nack_backoff_max_ms` 0 = every refusal waits `nack_delay_ms`; else the first waits `nack_backoff_min_ms`, and each
    further one longer by the multiplier.
    `max_redeliver_count` 0 = no dead letters; `dead_letter_subscription` is to be there before the first of them.
    `retry_letters`: also read the retry letter topic.
    `pattern_update_ms`: how often topics that match a pattern are looked for.
    `durable` False = a reader: the broker keeps nothing of it, and it comes back after what it has read.
    `start_inclusive`: a message that is sought is delivered itself, not only what follows it.
    `batch_receive_*`: what ends a batch receive; 0 = not that.
    `schema` and `schema_definition` as of producers.
    `read_compacted`: of what was compacted only the newest message of each key.
    `key_shared_ranges`: the hashes of keys that a Key_Shared consumer asks for; "" = the broker divides them.
    """

    subscription_type: SubscriptionType = SubscriptionType.EXCLUSIVE
    initial_position: InitialPosition = InitialPosition.EARLIEST
    consumer_name: str | None = None
    durable: bool = True
    start_inclusive: bool = False
    receiver_queue_size: Unsigned = 1000
    ack_group_ms: Unsigned = 100
    ack_group_max: Positive = 1000
    nack_delay_ms: Unsigned = 60_000
    nack_precision_ms: Unsigned = 0
    nack_backoff_min_ms: Unsigned = 10_000
    nack_backoff_max_ms: Unsigned = 0
    nack_backoff_multiplier: Multiplier = 2
    ack_timeout_ms: Unsigned = 0
    ack_timeout_tick_ms: Positive = 1_000
    max_redeliver_count: Unsigned = 0
    dead_letter_topic: str | None = None
    dead_letter_subscription: str | None = None
    retry_letters: bool = False
    retry_letter_topic: str | None = None
    batch_index_ack: bool = False
    max_pending_chunked_messages: Unsigned = 10
    auto_ack_oldest_chunked: bool = False
    expire_incomplete_chunked_ms: Unsigned = 60_000
    ack_receipt: bool = False
    partitions_update_ms: Unsigned = 60_000
    pattern_update_ms: Positive = 60_000
    batch_receive_max_messages: Unsigned = 0
    batch_receive_max_bytes: Unsigned = 10 * 1024 * 1024
    batch_receive_timeout_ms: Unsigned = 100
    schema: SchemaType | None = None
    schema_definition: str | None = None
    read_compacted: bool = False
    properties: Properties = ""
    key_shared_ranges: Ranges = ""
    key_shared_out_of_order: bool = False

    @property
    def individual_redelivery(self) -> bool:
        """Whether the broker redelivers single messages of this type of subscription, or all or nothing."""
        return self.subscription_type in (SubscriptionType.SHARED, SubscriptionType.KEY_SHARED)


def pairs_of(properties: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each property."""
    for one in filter(None, properties.split(",")):
        name, _, value = one.partition("=")
        yield name, value


def ranges_of(ranges: str) -> Iterator[tuple[int, int]]:
    """Yield both ends of each range of hashes."""
    for one in filter(None, ranges.split(",")):
        first, _, last = one.partition("-")
        yield int(first), int(last)


MIN_ACK_TIMEOUT_MS = 100
"""Below it a time-out is a mistake, and refused."""

S = TypeVar("S", ClientSettings, ProducerSettings, ConsumerSettings)


def settings(kind: type[S], config: Config) -> S:
    """Return the settings of a configuration. Raises UsageError, with the key, if one is unknown or its value wrong."""
    try:
        return convert(config, kind)
    except MalformedError as error:
        raise UsageError(f"{kind.__name__}: {error}") from error
