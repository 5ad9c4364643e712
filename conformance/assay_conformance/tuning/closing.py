"""Which limit closes a batch: the least of five numbers of messages.

    B = min(batchingMaxMessages, batchingMaxBytes div S, rate * delay, free permits, free memory div S)

with S the uncompressed bytes of a message, and the rate that of what arrives at the partition while it is selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from assay_conformance.tuning.formulas import Load, Settings


class Closing(StrEnum):
    COUNT = "count"
    BYTES = "bytes"
    DELAY = "delay"
    PERMITS = "permits"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Room:
    """What an open batch may take: all a batch may hold, what arrives in its time, and what is free.

    `rate_per_s` and the free numbers are infinite where nothing limits them.
    """

    max_messages: float
    max_bytes: float
    delay_ms: float
    rate_per_s: float = math.inf
    free_permits: float = math.inf
    free_bytes: float = math.inf


@dataclass(frozen=True, slots=True)
class Closer:
    messages: Callable[[Room, int], float]
    why: str


CLOSINGS: dict[Closing, Closer] = {
    Closing.COUNT: Closer(lambda room, _: room.max_messages, "the batch holds all the messages it may"),
    Closing.BYTES: Closer(lambda room, size: room.max_bytes // size, "the batch holds all the bytes it may"),
    Closing.DELAY: Closer(
        lambda room, _: room.rate_per_s * room.delay_ms / 1_000, "the publish delay ends before the batch is full"
    ),
    Closing.PERMITS: Closer(lambda room, _: room.free_permits, "the queue is full: the rest of it waits for receipts"),
    Closing.MEMORY: Closer(
        lambda room, size: room.free_bytes // size, "the client's memory is full: the rest of it waits for receipts"
    ),
}
"""In the order in which the first of several that are equal is named."""


def closing(room: Room, message_bytes: int) -> tuple[Closing, float]:
    """Return the limit that closes a batch first, and how many messages are in it then, at least one."""
    counts = {limit: closer.messages(room, message_bytes) for limit, closer in CLOSINGS.items()}
    first = min(counts, key=counts.__getitem__)
    return first, max(counts[first], 1.0)


class Regime(msgspec.Struct, frozen=True, kw_only=True):
    """How busy a producer is, what closes its batches then, and how many messages they hold."""

    name: str
    closes_by: Closing
    messages: int
    why: str


def regimes(load: Load, settings: Settings) -> tuple[Regime, ...]:
    """Return the regimes; none where batching is off."""
    if not settings.batching:
        return ()
    each, share = settings.pending_of_each(load.partitions), settings.memory_limit_bytes / load.partitions
    rate = load.partition_rate_per_s or math.inf
    rooms = [
        ("a burst into an empty client", math.inf, each, settings.memory_limit_bytes),
        ("as fast as receipts come, all partitions busy", math.inf, each - each // 2, share - share // 2),
    ]
    if math.isfinite(rate):
        rooms.append((f"{load.rate_per_s:g} messages a second", rate, each - each // 2, share - share // 2))
    return tuple(
        _regime(name, _room(settings, speed, permits or math.inf, memory), load.message_bytes)
        for name, speed, permits, memory in rooms
    )


def _room(settings: Settings, rate_per_s: float, permits: float, memory: float) -> Room:
    return Room(
        max_messages=settings.batching_max_messages or math.inf,
        max_bytes=settings.batching_max_bytes or math.inf,
        delay_ms=settings.batching_max_publish_delay_ms,
        rate_per_s=rate_per_s,
        free_permits=permits,
        free_bytes=memory or math.inf,
    )


def _regime(name: str, room: Room, message_bytes: int) -> Regime:
    limit, messages = closing(room, message_bytes)
    return Regime(name=name, closes_by=limit, messages=int(messages), why=CLOSINGS[limit].why)
