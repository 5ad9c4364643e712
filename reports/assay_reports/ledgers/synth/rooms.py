"""Where in a world an anomaly may sit: in rounds where nothing else is done to its message or those beside it."""

from __future__ import annotations

from collections.abc import Iterable

from assay_conformance.ledger.collection import US_PER_S
from assay_reports.ledgers.synth.changes import DURABLE_US, GRACE_US, SETTLED_US
from assay_reports.ledgers.synth.world import (
    AGAIN_ROUNDS,
    BATCHED_TOPICS,
    DURATION_US,
    EPOCHS_US,
    GUARD,
    KEYS,
    PERIOD,
    PLACE,
    RESTART_US,
    STREAMS,
    TOPICS,
    World,
)

FREE_ROUNDS = (10, 15, 23, 26, 33, 36, 39, 42, 45)
"""Of a period, beside `GUARD`: at these, their two successors and the next round of their key nothing happens."""
ROUNDS_IN_FAULTS = (2, 62)
"""As `FREE_ROUNDS`, and apart from them."""


def moving_rounds(world: World) -> Iterable[int]:
    periods = range(1, (world.rounds - GUARD.start) // PERIOD)
    return [period * PERIOD + FREE_ROUNDS[period % len(FREE_ROUNDS)] for period in periods]


def keys_stay(world: World, q: int) -> bool:
    """Return whether the previous and the next message of the key are delivered within the same time without faults."""
    return calm(world, q - KEYS) == calm(world, q + KEYS + 1) != len(EPOCHS_US) + 1


def calm(world: World, q: int) -> int:
    """Return after how many faults a round was delivered; or that it was during one, or shortly after it."""
    t = int(world.delivered_at(0, q))
    if any(t_from <= t <= t_to + GRACE_US for t_from, t_to in EPOCHS_US):
        return len(EPOCHS_US) + 1
    return sum(t > t_to for _, t_to in EPOCHS_US)


def takeover_rounds(world: World) -> range:
    place = world.takeover - AGAIN_ROUNDS // 2
    return range(place, place + 1) if world.takes_over else range(0)


def later_rounds(world: World) -> range:
    return range(PLACE, world.later - GUARD.stop + PLACE, PERIOD)


def unbatched(s: int) -> bool:
    """Return whether `s` has its messages in entries of their own: one with others comes back while any is wanted."""
    return s < STREAMS and s % TOPICS >= BATCHED_TOPICS


def in_peace(world: World, q: int) -> bool:
    """Return whether no fault acts during or shortly before a redelivery of the message, and the run lasts so long."""
    t = int(world.delivered_at(0, q))
    until = t + SETTLED_US + US_PER_S
    times = [*EPOCHS_US, (world.taken_over_at, world.taken_over_at)] if world.takes_over else EPOCHS_US
    return until < DURATION_US and all(t > t_to + GRACE_US or until < t_from for t_from, t_to in times)


def rounds_in_faults(world: World) -> Iterable[int]:
    (from_us, to_us), turn_us = EPOCHS_US[0], STREAMS * world.spacing_us
    inside = range(-(-from_us // turn_us), to_us // turn_us)
    return [q for q in inside if q % PERIOD in ROUNDS_IN_FAULTS and q + KEYS < world.rounds]


def outside_faults(world: World, q: int) -> bool:
    """Return whether `q` was sent outside of faults: a loss of the others is attributed to the fault as well."""
    from_us, to_us = (turn * STREAMS * world.spacing_us for turn in (q, q + 1))
    return all(from_us > t_to or to_us < t_from for t_from, t_to in EPOCHS_US)


def long_before_restart(world: World, q: int) -> bool:
    return int(world.delivered_at(0, q)) < RESTART_US - DURABLE_US - 1_000_000
