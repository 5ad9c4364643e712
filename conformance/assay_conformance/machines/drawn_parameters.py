"""The terms of lives, as they are drawn where nothing else is said: most values are those of most applications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import Strategy
from assay_conformance.machines.parameters import LONGEST_WAIT_MS, OPERATION_TIMEOUT_MS, SEND_TIMEOUT_MS, Parameters


def mostly(plain: Any, *others: Any, times: int = 7) -> Strategy:
    """Return a strategy of the plain value, so many times as often as each of the others."""
    return st.sampled_from((*(plain,) * times, *others))


TERMS: Mapping[str, Strategy] = {
    "deduplication": st.booleans(),
    "partitions": st.sampled_from((0, 0, 3)),
    "brokers": st.sampled_from((1, 1, 2)),
    "spread": st.booleans(),
    "proxied": st.sampled_from((False, False, False, False, True)),
    "protocol_version": st.sampled_from((21, 21, 21, 21, 21, 21, 16, 11)),
    "max_message_bytes": st.sampled_from((Parameters().max_message_bytes, Parameters().max_message_bytes, 1_000)),
    "tokens": st.sampled_from(("", "", "", "first,second")),
    "operation_timeout_ms": st.sampled_from((*[OPERATION_TIMEOUT_MS] * 23, LONGEST_WAIT_MS)),
    "keep_alive_ms": st.sampled_from((30_000, 30_000, 30_000, 700)),
    "own_client": mostly(False, True, times=5),
    "batching": st.booleans(),
    "batching_type": st.sampled_from(("default", "default", "key_based")),
    "batching_max_messages": st.sampled_from((3, 3, 10)),
    "batching_max_bytes": st.sampled_from((131_072, 131_072, 1_000)),
    "batching_max_publish_delay_ms": st.sampled_from((10, 10, 10, 10, 50, 700)),
    "batching_partition_switch_frequency": st.sampled_from((10, 1, 2)),
    "send_timeout_ms": st.sampled_from((*[SEND_TIMEOUT_MS] * 11, *[SEND_TIMEOUT_MS // 2] * 8, LONGEST_WAIT_MS)),
    "varied": st.booleans(),
    "listens_out": mostly(False, True, times=11),
    "small_queue": st.sampled_from((False, False, True)),
    "routing": st.sampled_from(("round_robin", "single")),
    "router": st.sampled_from(("", "", "", "", "by_number", "out_of_range")),
    "interceptor": st.sampled_from(("", "", "notes")),
    "hashing_scheme": st.sampled_from(("java_string", "murmur3_32", "")),
    "chunking": st.booleans(),
    "named": st.booleans(),
    "compression": st.sampled_from(("NONE", "LZ4", "ZSTD", "ZLIB", "SNAPPY")),
    "subscription_type": st.sampled_from(("exclusive", "shared", "failover", "key_shared")),
    "receiver_queue_size": st.sampled_from((1_000, 1, 3)),
    "ack_group_ms": st.sampled_from((100, 0, 50)),
    "ack_group_max": st.sampled_from((1_000, 2)),
    "ack_receipt": st.booleans(),
    "batch_index_ack": st.booleans(),
    "max_pending_messages": st.sampled_from((1_000, 1_000, 3)),
    "nack_delay_ms": st.sampled_from((100, 1, 300)),
    "ack_timeout_ms": st.sampled_from((0, 200)),
    "receives": mostly("", "listener", "batch", times=10),
}
