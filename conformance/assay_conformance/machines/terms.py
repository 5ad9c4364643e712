"""What holds for a whole life: the world it is in, and how its client is set up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay_conformance.model.case import ClientConfig, Config, Rate, Topic, Topology

TOPIC = "t"

CHUNKING_LIMIT_BYTES = 1_000
"""The broker's message limit where the producer chunks: small enough that a few kilobytes are several chunks."""

SMALL_QUEUE: Config = {"max_pending_messages": 2, "block_if_queue_full": True}
"""A producer's queue that holds less than a batch does."""

ACK_TIMEOUT_TICK_MS = 50
PARTITIONS_UPDATE_MS = 200

SEND_TIMEOUT_MS = 2_000
OPERATION_TIMEOUT_MS = 2_000
"""An opening that is refused goes on for so long; with the thirty seconds of most clients it would outlast its Case."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for a whole life. Rates are messages a second, 0 = none."""

    deduplication: bool = False
    partitions: int = 0
    brokers: int = 1
    publish_rate: int = 0
    dispatch_rate: int = 0
    batching: bool = False
    batching_type: str = "default"
    batching_max_publish_delay_ms: int = 10
    small_queue: bool = False
    routing: str = "round_robin"
    hashing_scheme: str = "java_string"
    chunking: bool = False
    named: bool = True
    compression: str = "NONE"
    subscription_type: str = "exclusive"
    receiver_queue_size: int = 1_000
    ack_group_ms: int = 100
    ack_group_max: int = 1_000
    ack_receipt: bool = False
    batch_index_ack: bool = False
    max_pending_messages: int = 1_000
    nack_delay_ms: int = 100
    ack_timeout_ms: int = 0

    def for_client(self, able: Collection[str] | None) -> Terms:
        """Those that can be asked of a client that is `able` to do so much (None: everything)."""
        lacking = () if able is None else sorted(WITHOUT.keys() - set(able))
        return replace(self, **{key: value for lacks in lacking for key, value in WITHOUT[lacks].items()})


WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "batching": {"batching": False},
    "key_based_batcher": {"batching_type": "default"},
    "chunking_producer": {"chunking": False},
    "chunking_consumer": {"chunking": False},
    "partitioned_topics": {"partitions": 0},
    "compression": {"compression": "NONE"},
    "batch_index_ack": {"batch_index_ack": False},
    "short_ack_timeout": {"ack_timeout_ms": 0},
}
"""The terms that are left to a client without a capability."""


def topology_of(terms: Terms) -> Topology:
    return Topology(
        topics=(_topic(terms),),
        brokers=terms.brokers,
        max_message_bytes=CHUNKING_LIMIT_BYTES if terms.chunking else Topology().max_message_bytes,
    )


def _topic(terms: Terms) -> Topic:
    return Topic(
        name=TOPIC,
        partitions=terms.partitions,
        deduplication=terms.deduplication,
        publish_rate=Rate(messages=terms.publish_rate),
        dispatch_rate=Rate(messages=terms.dispatch_rate),
    )


def config_of(terms: Terms) -> ClientConfig:
    return ClientConfig(
        client={"operation_timeout_ms": OPERATION_TIMEOUT_MS},
        producer=_producer_config(terms),
        consumer=_consumer_config(terms),
    )


def _producer_config(terms: Terms) -> Config:
    return {
        "send_timeout_ms": SEND_TIMEOUT_MS,
        "batching": terms.batching,
        "batching_max_messages": 3,
        "batching_max_publish_delay_ms": terms.batching_max_publish_delay_ms,
        "batching_type": terms.batching_type,
        "routing": terms.routing,
        "hashing_scheme": terms.hashing_scheme,
        "partitions_update_ms": PARTITIONS_UPDATE_MS,
        "chunking": terms.chunking and not terms.batching,
        "compression": terms.compression,
        "max_pending_messages": terms.max_pending_messages,
        **(SMALL_QUEUE if terms.small_queue else {}),
    }


def _consumer_config(terms: Terms) -> Config:
    return {
        "subscription_type": terms.subscription_type,
        "receiver_queue_size": terms.receiver_queue_size,
        "ack_group_ms": terms.ack_group_ms,
        "ack_group_max": terms.ack_group_max,
        "ack_receipt": terms.ack_receipt,
        "batch_index_ack": terms.batch_index_ack,
        "nack_delay_ms": terms.nack_delay_ms,
        "ack_timeout_ms": terms.ack_timeout_ms,
        "ack_timeout_tick_ms": ACK_TIMEOUT_TICK_MS,
        "partitions_update_ms": PARTITIONS_UPDATE_MS,
    }
