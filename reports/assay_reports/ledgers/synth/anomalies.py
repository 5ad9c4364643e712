"""What can be wrong in a made-up ledger: each kind as a change of a few rows, certificates and all.

An anomaly sits on one message, far enough from the next one that both are found alone. `count` says which places its
deliveries leave and which times they come at, before anybody's position is computed; `edit` then changes the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.ledger import clauses
from assay_reports.ledgers.synth import changes, rooms
from assay_reports.ledgers.synth.changes import ALL_SUBS, Change, Count
from assay_reports.ledgers.synth.rows import Edits
from assay_reports.ledgers.synth.world import (
    BATCHED_TOPICS,
    CHUNK_TOPIC,
    DEDUP_TOPICS,
    FAILOVER,
    GUARD,
    KEY_SHARED,
    KEYS,
    LATER_STREAM,
    PERIOD,
    PLACE,
    STREAMS,
    TOPICS,
    World,
)


class Anomaly(NamedTuple):
    """One of them in one world: (s, q) is its message."""

    kind: str
    s: int
    q: int


@dataclass(frozen=True, slots=True)
class Kind:
    """`requirements` are those that it breaks, `sub` where; `streams` may hold it, in rounds that `fits` allows."""

    requirements: tuple[str, ...]
    meaning: str
    edit: Change
    count: Count = lambda _world, _s, _q: None
    sub: int = ALL_SUBS
    streams: Callable[[int], bool] = lambda s: s < STREAMS
    fits: Callable[[World, int], bool] = lambda _world, _q: True
    rounds: Callable[[World], Iterable[int]] = lambda world: range(PLACE, world.rounds - GUARD.stop + PLACE, PERIOD)
    plain: bool = False
    """Can be in a ledger of three events a message."""
    apart: Callable[[World, int, int], Hashable] = lambda _world, s, q: (s, q)
    """What two of them in one world must not share."""


def edits_of(world: World, anomalies: list[Anomaly]) -> Edits:
    """Return the edits of these anomalies; the world's positions take them into account from here on."""
    for one in anomalies:
        KINDS[one.kind].count(world, one.s, one.q)
    found = Edits()
    for one in anomalies:
        KINDS[one.kind].edit(world, found, one.s, one.q)
    return found


def _nothing(_world: World, _s: int, _q: int) -> None:
    """Nothing comes, nothing goes."""


def _of_refusal(requirements: tuple[str, ...], meaning: str, count: Count, edit: Change) -> Kind:
    return Kind(requirements, meaning, edit, count, KEY_SHARED, rooms.unbatched, rooms.in_peace)


KINDS: Mapping[str, Kind] = {
    "lost": Kind(
        (clauses.LOST,),
        "reported as stored, and never delivered",
        changes.lost,
        changes.goes,
        FAILOVER,
        fits=rooms.outside_faults,
        plain=True,
    ),
    "lost-in-fault": Kind(
        (clauses.LOST, clauses.WINDOWS),
        "sent while a fault acted, reported as stored, and never delivered",
        changes.lost,
        changes.goes,
        FAILOVER,
        lambda s: s < STREAMS,
        rounds=rooms.rounds_in_faults,
    ),
    "phantom": Kind((clauses.INVENTED,), "delivered, and never sent", changes.phantom, plain=True),
    "failed": Kind((clauses.FAILED,), "reported as failed, and delivered", changes.failed, plain=True),
    "corrupt": Kind((clauses.AS_SENT,), "delivered with other bytes", changes.corrupt, sub=FAILOVER, plain=True),
    "duplicate": Kind(
        (clauses.CONTRACT,),
        "delivered twice, for no reason",
        changes.duplicate,
        changes.came(FAILOVER, 0),
        FAILOVER,
        fits=rooms.in_peace,
        plain=True,
    ),
    "disorder": Kind((clauses.ORDER,), "delivered after its successor", changes.disorder, sub=FAILOVER, plain=True),
    "ids-out-of-order": Kind(
        (clauses.ORDER,), "reported as stored before a message that was sent earlier", changes.ids_out_of_order
    ),
    "key-moved": Kind(
        (clauses.KEEPS_KEYS,),
        "delivered to another consumer than its key, and the next one of that key is not",
        changes.moves,
        changes.moves_count,
        KEY_SHARED,
        lambda s: s in (BATCHED_TOPICS, BATCHED_TOPICS + 1),
        rooms.keys_stay,
        rooms.moving_rounds,
        apart=lambda world, s, q: ("key", s % TOPICS, q % KEYS, rooms.calm(world, q)),
    ),
    "unstored": Kind((clauses.STORED_OK,), "reported as stored, and missing when read back", changes.unstored),
    "stored-twice": Kind(
        (clauses.DEDUP,),
        "stored twice on a topic with deduplication",
        changes.stored_twice,
        streams=lambda s: s < STREAMS and s % TOPICS in DEDUP_TOPICS,
    ),
    "key-disorder": Kind(
        (clauses.KEY_ORDER,), "delivered after the next message of its key", changes.key_disorder, sub=KEY_SHARED
    ),
    "torn": Kind(
        (clauses.CHUNKS,),
        "delivered, with a chunk of it not there",
        changes.torn,
        streams=lambda s: s < STREAMS and s % TOPICS == CHUNK_TOPIC,
    ),
    "acked-again": Kind(
        (clauses.ENDS, clauses.CONTRACT),
        "delivered again to who had acknowledged it",
        changes.acked_again,
        changes.came(KEY_SHARED, changes.SETTLED_US),
        KEY_SHARED,
        rooms.unbatched,
        rooms.in_peace,
    ),
    "survived": Kind(
        (clauses.SURVIVES,),
        "acknowledged long before a restart, and delivered after it",
        changes.survived,
        changes.survived_count,
        KEY_SHARED,
        rooms.unbatched,
        fits=rooms.long_before_restart,
    ),
    "hole": Kind(
        (clauses.KEEPS,),
        "left unacknowledged by a consumer, and given to no other",
        changes.hole,
        changes.hole_count,
        FAILOVER,
        rounds=rooms.takeover_rounds,
    ),
    "at-once": _of_refusal((clauses.LEAST, clauses.WINDOW), "delivered again at once after a nack", *changes.AT_ONCE),
    "early": _of_refusal((clauses.WINDOW,), "delivered again too early after a nack", *changes.EARLY),
    "never": _of_refusal((clauses.WINDOW,), "refused, and never delivered again", _nothing, changes.never),
    "uncounted": _of_refusal((clauses.COUNTED,), "delivered again with a redelivery count of 0", *changes.UNCOUNTED),
    "too-often": _of_refusal((clauses.CONTRACT,), "delivered more often than the subscription allows", *changes.OFTEN),
    "before-time": Kind(
        (clauses.DUE,),
        "delivered before its time",
        changes.due,
        sub=KEY_SHARED,
        streams=lambda s: s == LATER_STREAM,
        rounds=rooms.later_rounds,
    ),
}


def places(world: World, kind: Kind) -> Iterator[tuple[int, int]]:
    """Yield (stream, round) of every message of a world that can have an anomaly of this kind."""
    streams = [s for s in range(world.streams) if kind.streams(s)]
    return ((s, q) for q in kind.rounds(world) if kind.fits(world, q) for s in streams)
