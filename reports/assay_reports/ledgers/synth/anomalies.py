"""What can be wrong in a made-up ledger: each kind as a change of a few rows, certificates and all.

An anomaly sits on one message, far enough from the next one that both are found alone. `count` says which places its
deliveries leave and which times they come at, before anybody's position is computed; `edit` then changes the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import US_PER_S
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, STORED, AckKind, Again, Integrity, Result
from assay_reports.ledgers.layout import NULL
from assay_reports.ledgers.synth.rows import TAKEN_OVER, Block, Edit, Edits
from assay_reports.ledgers.synth.world import (
    AGAIN_ROUNDS,
    BATCHED_TOPICS,
    CHUNK_TOPIC,
    COMES_AGAIN_US,
    DEDUP_TOPICS,
    DURATION_US,
    EPOCHS_US,
    EVEN,
    FAILOVER,
    GUARD,
    KEY_SHARED,
    KEYS,
    LATER_STREAM,
    PERIOD,
    PLACE,
    RESTART_US,
    SECOND,
    STREAMS,
    TOPICS,
    World,
)

MAX_REDELIV = 5
DURABLE_US = 2_000_000
SETTLED_US = DURABLE_US + US_PER_S
GRACE_US = 2_000_000
ALL_SUBS = -1

Count = Callable[[World, int, int], None]
Change = Callable[[World, Edits, int, int], None]


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
    rounds: Callable[[World], range] = lambda world: range(PLACE, world.rounds - GUARD.stop + PLACE, PERIOD)
    plain: bool = False
    """Can be in a ledger of three events a message."""


def edits_of(world: World, anomalies: list[Anomaly]) -> Edits:
    """The edits of these anomalies; the world's positions take them into account from here on."""
    for one in anomalies:
        KINDS[one.kind].count(world, one.s, one.q)
    found = Edits()
    for one in anomalies:
        KINDS[one.kind].edit(world, found, one.s, one.q)
    return found


# --- means -----------------------------------------------------------------------------------------------------------


def _row(world: World, table: str, sub: int, s: int, q: int) -> dict[str, int]:
    """The ordinary row of a message."""
    stream = world.stream(s)
    for name, columns in Block(world, q, q + 1, Edits()).tables():
        if name == table and (sub == ALL_SUBS or columns["sub"][0] == sub):
            for at in (columns["stream"] == stream).nonzero()[0]:
                return {column: int(values[at]) for column, values in columns.items()}
    raise AssertionError(f"no {table} of {(s, q)} in this world")


def _whose(world: World, sub: int, s: int, q: int) -> int:
    return int(world.of_failover(s, q) if sub == FAILOVER else world.of_key_shared(s, q))


def _after(world: World, s: int, q: int, us: int) -> int:
    """A time about `us` after the message was delivered, at which nothing else is."""
    return int(world.delivered_at(s, q)) + us // world.spacing_us * world.spacing_us + 1


def _came(sub: int, us: int) -> Count:
    def count(world: World, s: int, q: int) -> None:
        t = _after(world, s, q, us) if us else int(world.delivered_at(s, q)) + 1
        world.came.setdefault(_whose(world, sub, s, q), []).append(t)

    return count


def _comes(world: World, edits: Edits, sub: int, s: int, q: int, t: int, **columns: int) -> None:
    """One more delivery of the message."""
    row = _row(world, DELIVERY.name, sub, s, q)
    one = _whose(world, sub, s, q)
    row |= {"t": t, "pos": int(world.position_at(one, t)), "gap": 1, "kgap": 1, "wait": NULL} | columns
    edits.extra.append((Edit(DELIVERY.name, sub, s, q), row))


def _change(edits: Edits, table: str, sub: int, s: int, q: int, **columns: int) -> None:
    edits.change.setdefault(Edit(table, sub, s, q), {}).update(columns)


# --- kinds -----------------------------------------------------------------------------------------------------------


def _goes(world: World, s: int, q: int) -> None:
    one = _whose(world, FAILOVER, s, q)
    world.gone.setdefault(one, []).append(int(world.place(one, s, q)))


def _lost(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop |= {Edit(DELIVERY.name, FAILOVER, s, q), Edit(ACK.name, FAILOVER, s, q)}
    _change(edits, DELIVERY.name, FAILOVER, s, q + 1, gap=2)
    _change(edits, DELIVERY.name, FAILOVER, s, q + KEYS, kgap=2 * KEYS)


def _phantom(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop |= {Edit(ATTEMPT.name, ALL_SUBS, s, q), Edit(OUTCOME.name, ALL_SUBS, s, q)}


def _failed(_world: World, edits: Edits, s: int, q: int) -> None:
    _change(edits, OUTCOME.name, ALL_SUBS, s, q, code=Result.FAIL, ledger=-1, entry=-1, batch=-1)


def _unstored(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop.add(Edit(STORED.name, ALL_SUBS, s, q))


def _corrupt(world: World, edits: Edits, s: int, q: int) -> None:
    crc = _row(world, DELIVERY.name, FAILOVER, s, q)["crc"]
    _change(edits, DELIVERY.name, FAILOVER, s, q, crc=crc ^ 1, ok=Integrity.BAD)


def _duplicate(world: World, edits: Edits, s: int, q: int) -> None:
    _comes(world, edits, FAILOVER, s, q, int(world.delivered_at(s, q)) + 1, again=Again.GOT)


def _stored_twice(world: World, edits: Edits, s: int, q: int) -> None:
    row = _row(world, STORED.name, ALL_SUBS, s, q)
    edits.extra.append((Edit(STORED.name, ALL_SUBS, s, q), row | {"ledger": row["ledger"] + 500}))


def _disorder(world: World, edits: Edits, s: int, q: int) -> None:
    one = _whose(world, FAILOVER, s, q)
    for here, there, gap in ((q, q + 1, -1), (q + 1, q, 2)):
        pos = int(world.position(one, s, there))
        _change(edits, DELIVERY.name, FAILOVER, s, here, t=int(world.delivered_at(s, there)), pos=pos, gap=gap)


def _key_disorder(world: World, edits: Edits, s: int, q: int) -> None:
    later = q + KEYS
    for here, there, gap, kgap in ((q, later, -KEYS, -KEYS), (later, q, KEYS + 2, 2 * KEYS)):
        t, pos = int(world.delivered_at(s, there)), int(world.position(EVEN, s, there))
        _change(edits, DELIVERY.name, KEY_SHARED, s, here, t=t, pos=pos, gap=gap, kgap=kgap)
        _change(edits, ACK.name, KEY_SHARED, s, here, t=t + 100, t_done=t + 400)
    for between in range(q + 2, later, 2):
        _change(edits, DELIVERY.name, KEY_SHARED, s, between, gap=between - later)


def _torn(world: World, edits: Edits, s: int, q: int) -> None:
    row = _row(world, STORED.name, ALL_SUBS, s, q)
    _change(edits, STORED.name, ALL_SUBS, s, q, chunk=2, chunks=3)
    first = row | {"entry": row["entry"] - 2, "chunk": 0, "chunks": 3}
    edits.extra.append((Edit(STORED.name, ALL_SUBS, s, q), first))


def _acked_again(world: World, edits: Edits, s: int, q: int) -> None:
    _comes(world, edits, KEY_SHARED, s, q, _after(world, s, q, SETTLED_US), again=Again.ACKED, redeliv=1)


def _since_restart(world: World, s: int, q: int) -> int:
    # Each at a time of its own.
    turn = (q // PERIOD * STREAMS + s) * world.spacing_us
    return RESTART_US + 1_000_000 + turn - int(world.delivered_at(s, q))


def _survived_count(world: World, s: int, q: int) -> None:
    _came(KEY_SHARED, _since_restart(world, s, q))(world, s, q)


def _survived(world: World, edits: Edits, s: int, q: int) -> None:
    t = _after(world, s, q, _since_restart(world, s, q))
    _comes(world, edits, KEY_SHARED, s, q, t, again=Again.ACKED, redeliv=1)


def _left_place(s: int) -> int:
    return (AGAIN_ROUNDS // 2) * STREAMS + s


def _hole_count(world: World, s: int, _q: int) -> None:
    world.gone.setdefault(SECOND, []).append(_left_place(s) - AGAIN_ROUNDS * STREAMS)


def _hole(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop |= {Edit(TAKEN_OVER, FAILOVER, s, q), Edit(ACK.name, FAILOVER, s, q)}
    _change(edits, TAKEN_OVER, FAILOVER, s, q + 1, gap=2)
    _change(edits, DELIVERY.name, FAILOVER, s, q + KEYS, kgap=q + KEYS + 1)


def _refuse(edits: Edits, s: int, q: int) -> None:
    _change(edits, ACK.name, KEY_SHARED, s, q, kind=AckKind.NACK, t_done=NULL)


def _refused(us: int, **columns: int) -> tuple[Count, Change]:
    """Refused, and delivered again about `us` later, as `columns` say."""

    def edit(world: World, edits: Edits, s: int, q: int) -> None:
        _refuse(edits, s, q)
        t = _after(world, s, q, us)
        wait = t - int(world.delivered_at(s, q)) - 100
        _comes(world, edits, KEY_SHARED, s, q, t, **{"again": Again.GOT, "redeliv": 1, "wait": wait, **columns})
        ack = _row(world, ACK.name, KEY_SHARED, s, q) | {"t": t + 100, "t_done": t + 400}
        edits.extra.append((Edit(ACK.name, KEY_SHARED, s, q), ack))

    return _came(KEY_SHARED, us), edit


_AT_ONCE = _refused(50_000)
_EARLY = _refused(500_000)
_UNCOUNTED = _refused(COMES_AGAIN_US + 10_000, redeliv=0)
_OFTEN = _refused(COMES_AGAIN_US + 10_000, redeliv=MAX_REDELIV + 1)


def _never(_world: World, edits: Edits, s: int, q: int) -> None:
    _refuse(edits, s, q)


def _due(world: World, edits: Edits, s: int, q: int) -> None:
    later = 3 * US_PER_S  # more than a broker's tick
    _change(edits, ATTEMPT.name, ALL_SUBS, s, q, deliver_at=_row(world, ATTEMPT.name, -1, s, q)["deliver_at"] + later)
    for sub in (FAILOVER, KEY_SHARED):
        wait = _row(world, DELIVERY.name, sub, s, q)["wait"] - later
        _change(edits, DELIVERY.name, sub, s, q, wait=wait)


def _takeover_rounds(world: World) -> range:
    place = world.takeover - AGAIN_ROUNDS // 2
    return range(place, place + 1) if world.takes_over else range(0)


def _later_rounds(world: World) -> range:
    return range(PLACE, world.later - GUARD.stop + PLACE, PERIOD)


def _unbatched(s: int) -> bool:
    """An entry with others in it comes back as long as one of them is wanted."""
    return s < STREAMS and s % TOPICS >= BATCHED_TOPICS


def _in_peace(world: World, q: int) -> bool:
    """Nothing is done to the run while the message comes again, and some time before; and the run goes on."""
    t = int(world.delivered_at(0, q))
    until = t + SETTLED_US + US_PER_S
    times = [*EPOCHS_US, (world.taken_over_at, world.taken_over_at)] if world.takes_over else EPOCHS_US
    return until < DURATION_US and all(t > t_to + GRACE_US or until < t_from for t_from, t_to in times)


def _outside_faults(world: World, q: int) -> bool:
    """What is lost of those that were sent in a fault is told of the fault as well."""
    from_us, to_us = (turn * STREAMS * world.spacing_us for turn in (q, q + 1))
    return all(from_us > t_to or to_us < t_from for t_from, t_to in EPOCHS_US)


def _long_before_restart(world: World, q: int) -> bool:
    return int(world.delivered_at(0, q)) < RESTART_US - DURABLE_US - 1_000_000


def _nothing(_world: World, _s: int, _q: int) -> None:
    """Nothing comes, nothing goes."""


def _of_refusal(requirements: tuple[str, ...], meaning: str, count: Count, edit: Change) -> Kind:
    return Kind(requirements, meaning, edit, count, KEY_SHARED, _unbatched, _in_peace)


KINDS: Mapping[str, Kind] = {
    "lost": Kind(
        (clauses.LOST,),
        "told to be stored, and never delivered",
        _lost,
        _goes,
        FAILOVER,
        fits=_outside_faults,
        plain=True,
    ),
    "phantom": Kind((clauses.INVENTED,), "delivered, and never sent", _phantom, plain=True),
    "failed": Kind((clauses.FAILED,), "told not to be stored, and delivered", _failed, plain=True),
    "corrupt": Kind((clauses.AS_SENT,), "delivered with other bytes", _corrupt, sub=FAILOVER, plain=True),
    "duplicate": Kind(
        (clauses.CONTRACT,),
        "delivered twice, for no reason",
        _duplicate,
        _came(FAILOVER, 0),
        FAILOVER,
        fits=_in_peace,
        plain=True,
    ),
    "disorder": Kind((clauses.ORDER,), "delivered behind its successor", _disorder, sub=FAILOVER, plain=True),
    "unstored": Kind((clauses.STORED_OK,), "told to be stored, and not there when read back", _unstored),
    "stored-twice": Kind(
        (clauses.DEDUP,),
        "stored twice on a topic with deduplication",
        _stored_twice,
        streams=lambda s: s < STREAMS and s % TOPICS in DEDUP_TOPICS,
    ),
    "key-disorder": Kind(
        (clauses.KEY_ORDER,), "delivered behind the next message of its key", _key_disorder, sub=KEY_SHARED
    ),
    "torn": Kind(
        (clauses.CHUNKS,),
        "delivered, with a chunk of it not there",
        _torn,
        streams=lambda s: s < STREAMS and s % TOPICS == CHUNK_TOPIC,
    ),
    "acked-again": Kind(
        (clauses.ENDS, clauses.CONTRACT),
        "delivered again to who had acknowledged it",
        _acked_again,
        _came(KEY_SHARED, SETTLED_US),
        KEY_SHARED,
        _unbatched,
        _in_peace,
    ),
    "survived": Kind(
        (clauses.SURVIVES,),
        "acknowledged long before a restart, and delivered after it",
        _survived,
        _survived_count,
        KEY_SHARED,
        _unbatched,
        fits=_long_before_restart,
    ),
    "hole": Kind(
        (clauses.KEEPS,),
        "left unacknowledged by a consumer, and given to no other",
        _hole,
        _hole_count,
        FAILOVER,
        rounds=_takeover_rounds,
    ),
    "at-once": _of_refusal((clauses.LEAST, clauses.WINDOW), "delivered again at once after a nack", *_AT_ONCE),
    "early": _of_refusal((clauses.WINDOW,), "delivered again too early after a nack", *_EARLY),
    "never": _of_refusal((clauses.WINDOW,), "refused, and never delivered again", _nothing, _never),
    "uncounted": _of_refusal((clauses.COUNTED,), "delivered again with a redelivery count of 0", *_UNCOUNTED),
    "too-often": _of_refusal((clauses.CONTRACT,), "delivered more often than the subscription allows", *_OFTEN),
    "before-time": Kind(
        (clauses.DUE,),
        "delivered before its time",
        _due,
        sub=KEY_SHARED,
        streams=lambda s: s == LATER_STREAM,
        rounds=_later_rounds,
    ),
}


def places(world: World, kind: Kind) -> Iterator[tuple[int, int]]:
    """Every message of the world that can hold it."""
    streams = [s for s in range(world.streams) if kind.streams(s)]
    return ((s, q) for q in kind.rounds(world) if kind.fits(world, q) for s in streams)
