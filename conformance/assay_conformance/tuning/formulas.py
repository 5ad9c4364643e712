"""The parameter template of vivo (its practice with a trillion messages, 3.2.3) as formulas, in their order.

The template gives ranges for two settings, pending messages and publish delay; what chooses inside them here is what
the ranges are for, and stands in the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from assay_conformance.model.errors import UsageError
from assay_conformance.tuning.bounds import BOUNDS, INT_MOST, MIB

PENDING = 1_000, 2_000
DELAY_MS = 1, 100
USUAL_DELAY_MS = 10
"""Where no rate says how long a batch takes to fill: the default of the C++ and Go clients."""

BATCH_BYTES_MAX = MIB
LEAST_BATCH = 2
"""Messages. C++ and Python refuse to be given fewer."""

MACHINE_CLASSES_MB = {"small": 64, "medium": 128, "large": 256}
"""Fixed memory limits by the size of the machine that the client runs on."""

VIVO = (
    "vivo engineering blog, vivo Pulsar trillion-message practice (1): producer send path and tuning (2025-06), 3.2.3"
)
"""Called as in the catalogue."""


BY_FORMULA = frozenset({"rate_per_s", "memory_mb", "max_pending", "max_pending_across", "delay_ms"})
"""Fields of a load that are 0 where they are not set."""


class Load(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a producer is to carry. UsageError for what is outside of its bounds.

    `rate_per_s`: messages a second to all partitions together; 0 = not known. `keyed`: keys spread them over all
    partitions at once, otherwise they go to one partition at a time. Memory, limits and delay 0 = by formula.
    """

    partitions: int
    message_bytes: int
    rate_per_s: float = 0.0
    keyed: bool = False
    memory_mb: int = 0
    max_pending: int = 0
    max_pending_across: int = 0
    delay_ms: int = 0
    round_trip_ms: float = 10.0

    def __post_init__(self) -> None:
        for name, bound in BOUNDS.items():
            value = getattr(self, name)
            left_open = value == 0 and name in BY_FORMULA
            if not left_open and (wrong := bound.misfit(value)):
                raise UsageError(f"{name} {wrong}")

    @property
    def partition_rate_per_s(self) -> float:
        """What arrives at a partition while it is selected."""
        return self.rate_per_s / self.partitions if self.keyed else self.rate_per_s


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A producer's settings, and the memory of its client. Names are those of the suite's configuration keys."""

    max_pending_messages: int
    max_pending_messages_across_partitions: int
    memory_limit_bytes: int
    batching: int
    batching_max_messages: int
    batching_max_bytes: int
    batching_max_publish_delay_ms: int
    partition_switch_frequency: int

    def pending_of_each(self, partitions: int) -> int:
        """Return how many messages one partition may have pending (requirement flow.max-pending-across-partitions)."""
        return min(self.max_pending_messages, self.max_pending_messages_across_partitions // partitions)


def max_pending(load: Load) -> int:
    """Return the length of the queue: one half is what arrives while the other waits for its receipt.

    It is no more than what the other chosen limits let a partition have: a longer queue would never be full.
    """
    if load.max_pending:
        return load.max_pending
    least, most = PENDING
    by_rate = max(least, min(most, round(2 * load.partition_rate_per_s * load.round_trip_ms / 1_000)))
    return min(by_rate, *(max(1, share) for share in _chosen_shares(load)))


def _chosen_shares(load: Load) -> Iterator[int]:
    """Yield the messages of each partition under the limits of all together that are set.

    What divides to nothing, clients take for no limit.
    """
    yield load.max_pending_across // load.partitions or INT_MOST
    if load.memory_mb:
        yield load.memory_mb * MIB // load.partitions // load.message_bytes


def max_pending_across(load: Load) -> int:
    return load.max_pending_across or max_pending(load) * load.partitions


def memory_limit_bytes(load: Load) -> int:
    return load.memory_mb * MIB or max_pending(load) * load.partitions * load.message_bytes


def pending_in_force(load: Load) -> int:
    """Return how many messages one partition can have without a receipt, by the first of the three limits."""
    across = max_pending_across(load) // load.partitions or INT_MOST
    return max(1, min(max_pending(load), across, memory_limit_bytes(load) // load.partitions // load.message_bytes))


def batching_max_messages(load: Load) -> int:
    return pending_in_force(load) // 2


def batching_max_bytes(load: Load) -> int:
    """Return the limit, divided in the template's order: what is left of each division is dropped."""
    return min(memory_limit_bytes(load) // load.partitions // 2, BATCH_BYTES_MAX)


def batching(load: Load) -> int:
    """Return 1, batching on, where a batch holds two messages, and else 0."""
    most = min(batching_max_messages(load), batching_max_bytes(load) // load.message_bytes)
    return int(most >= LEAST_BATCH)


def publish_delay_ms(load: Load) -> int:
    """Return the time that a batch takes to fill at this rate, in ms."""
    if load.delay_ms:
        return load.delay_ms
    if not load.rate_per_s:
        return USUAL_DELAY_MS
    least, most = DELAY_MS
    full = min(batching_max_messages(load), max(batching_max_bytes(load) // load.message_bytes, 1))
    return max(least, min(most, -int(-full * 1_000 // load.partition_rate_per_s)))


def switch_frequency(load: Load) -> int:
    """Return after how many batches the partition changes: one."""
    del load
    return 1


@dataclass(frozen=True, slots=True)
class Formula:
    setting: str
    text: str
    source: str
    value: Callable[[Load], int]
    unit: str = ""
    chosen_by: str = ""
    """The field of a load that goes before the formula."""
    of_batches: bool = False
    """Means nothing where batching is off."""


FORMULAS = (
    Formula(
        "max_pending_messages",
        "P: twice what arrives in a round trip, 1000 ... 2000; no more than a given limit leaves each of them",
        VIVO,
        max_pending,
        "messages a partition",
        "max_pending",
    ),
    Formula(
        "max_pending_messages_across_partitions",
        "P * partitions",
        f"{VIVO}; C++ client, PartitionedProducerImpl",
        max_pending_across,
        "messages",
        "max_pending_across",
    ),
    Formula(
        "memory_limit_bytes",
        "P * partitions * message size",
        f"{VIVO}; PIP-74: Pulsar client memory limits",
        memory_limit_bytes,
        "bytes a client",
        "memory_mb",
    ),
    Formula(
        "batching",
        "on where a batch holds two messages",
        VIVO,
        batching,
        "1 = on, 0 = off",
    ),
    Formula(
        "batching_max_messages",
        "half of what is pending: it is built while the other half waits for its receipt",
        VIVO,
        batching_max_messages,
        "messages",
        of_batches=True,
    ),
    Formula(
        "batching_max_bytes",
        "memory limit / partitions / 2, at most 1 MiB",
        VIVO,
        batching_max_bytes,
        "bytes",
        of_batches=True,
    ),
    Formula(
        "batching_max_publish_delay_ms",
        "as long as a batch takes to fill at the given rate, 1 ... 100; 10 without one",
        VIVO,
        publish_delay_ms,
        "ms",
        "delay_ms",
        of_batches=True,
    ),
    Formula(
        "partition_switch_frequency",
        "one batch, then the next partition",
        f"{VIVO}; Java client, RoundRobinPartitionMessageRouterImpl",
        switch_frequency,
        "publish delays",
        of_batches=True,
    ),
)


def settings_of(load: Load) -> Settings:
    return Settings(**{formula.setting: formula.value(load) for formula in FORMULAS})
