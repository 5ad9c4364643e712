"""The registry: requirement id -> the check that judges it, collected from the chapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from assay_conformance.checks import (
    access,
    ack,
    ack_timeout,
    across_partitions,
    backing_off,
    batching,
    chunk_dropping,
    chunk_expiry,
    chunk_ids,
    chunk_keeping,
    chunk_limits,
    chunk_permits,
    chunk_resending,
    chunk_sending,
    chunking,
    compression,
    connection,
    dedup,
    dedup_broker,
    delayed,
    deleting,
    delivery,
    delivery_order,
    flow,
    key_order,
    letters,
    limits,
    liveness,
    malformed,
    moving,
    nack,
    name_holders,
    negotiated,
    old_ids,
    ordering,
    permits,
    positions,
    producing,
    readers,
    receipt_ranges,
    receipts,
    refusals,
    requests,
    resend,
    returned_permits,
    returning,
    robustness,
    roundtrip,
    routing,
    seek,
    seek_pending,
    staying_away,
    strays,
    subscription,
    termination,
    throttling,
    timeouts,
    transient,
    unacked,
    unreadable,
    zero_queue,
)
from assay_conformance.checks.base import Check

__all__ = ["CHECKS"]

_CHAPTERS = (
    ordering,
    key_order,
    positions,
    resend,
    receipts,
    receipt_ranges,
    timeouts,
    refusals,
    termination,
    returning,
    staying_away,
    backing_off,
    producing,
    access,
    name_holders,
    dedup,
    dedup_broker,
    old_ids,
    delivery,
    delivery_order,
    chunk_limits,
    chunk_permits,
    chunk_resending,
    chunk_sending,
    chunking,
    chunk_keeping,
    chunk_dropping,
    chunk_expiry,
    chunk_ids,
    ack,
    nack,
    ack_timeout,
    subscription,
    readers,
    deleting,
    letters,
    delayed,
    throttling,
    batching,
    routing,
    compression,
    flow,
    permits,
    returned_permits,
    zero_queue,
    unacked,
    limits,
    across_partitions,
    seek,
    seek_pending,
    connection,
    negotiated,
    requests,
    moving,
    transient,
    robustness,
    strays,
    unreadable,
    malformed,
    roundtrip,
    liveness,
)


def _is_of(value: type, chapter: ModuleType) -> bool:
    return value.__module__ == chapter.__name__ or value.__module__.startswith(f"{chapter.__name__}.")


def _checks_of(chapter: ModuleType) -> Iterator[type[Check]]:
    """The check classes of a chapter, a module or a package that names them: those with a requirement of their own."""
    for value in vars(chapter).values():
        own = isinstance(value, type) and issubclass(value, Check) and _is_of(value, chapter)
        if own and "requirement" in vars(value):
            yield value


CHECKS: Mapping[str, type[Check]] = {check.requirement: check for chapter in _CHAPTERS for check in _checks_of(chapter)}
