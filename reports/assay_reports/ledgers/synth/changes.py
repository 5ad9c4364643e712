"""What an anomaly does to the rows around its message, certificates and all."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.ledger.collection import US_PER_S
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, STORED, AckKind, Again, Integrity, Result
from assay_reports.ledgers.layout import NULL
from assay_reports.ledgers.synth.rows import TAKEN_OVER, Block, Edit, Edits
from assay_reports.ledgers.synth.world import (
    AGAIN_ROUNDS,
    COMES_AGAIN_US,
    EVEN,
    FAILOVER,
    KEY_SHARED,
    KEYS,
    ODD,
    PERIOD,
    RESTART_US,
    SECOND,
    STREAMS,
    World,
)

MAX_REDELIV = 5
DURABLE_US = 2_000_000
SETTLED_US = DURABLE_US + US_PER_S
GRACE_US = 2_000_000
ALL_SUBS = -1

Count = Callable[[World, int, int], None]
Change = Callable[[World, Edits, int, int], None]


def _row(world: World, table: str, sub: int, s: int, q: int) -> dict[str, int]:
    """Return the ordinary row of a message."""
    stream = world.stream(s)
    for name, columns in Block(world, q, q + 1, Edits()).tables():
        if name == table and (sub == ALL_SUBS or columns["sub"][0] == sub):
            for at in (columns["stream"] == stream).nonzero()[0]:
                return {column: int(values[at]) for column, values in columns.items()}
    raise AssertionError(f"no {table} of {(s, q)} in this world")


def _whose(world: World, sub: int, s: int, q: int) -> int:
    return int(world.of_failover(s, q) if sub == FAILOVER else world.of_key_shared(s, q))


def _after(world: World, s: int, q: int, us: int) -> int:
    """Return a time about `us` after the message was delivered, at which nothing else is."""
    return int(world.delivered_at(s, q)) + us // world.spacing_us * world.spacing_us + 1


def came(sub: int, us: int) -> Count:
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


def goes(world: World, s: int, q: int) -> None:
    one = _whose(world, FAILOVER, s, q)
    world.gone.setdefault(one, []).append(int(world.place(one, s, q)))


def lost(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop |= {Edit(DELIVERY.name, FAILOVER, s, q), Edit(ACK.name, FAILOVER, s, q)}
    _change(edits, DELIVERY.name, FAILOVER, s, q + 1, gap=2)
    _change(edits, DELIVERY.name, FAILOVER, s, q + KEYS, kgap=2 * KEYS)


def phantom(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop |= {Edit(ATTEMPT.name, ALL_SUBS, s, q), Edit(OUTCOME.name, ALL_SUBS, s, q)}


def failed(_world: World, edits: Edits, s: int, q: int) -> None:
    _change(edits, OUTCOME.name, ALL_SUBS, s, q, code=Result.FAIL, ledger=-1, entry=-1, batch=-1)


def unstored(_world: World, edits: Edits, s: int, q: int) -> None:
    edits.drop.add(Edit(STORED.name, ALL_SUBS, s, q))


def corrupt(world: World, edits: Edits, s: int, q: int) -> None:
    crc = _row(world, DELIVERY.name, FAILOVER, s, q)["crc"]
    _change(edits, DELIVERY.name, FAILOVER, s, q, crc=crc ^ 1, ok=Integrity.BAD)


def duplicate(world: World, edits: Edits, s: int, q: int) -> None:
    _comes(world, edits, FAILOVER, s, q, int(world.delivered_at(s, q)) + 1, again=Again.GOT)


def stored_twice(world: World, edits: Edits, s: int, q: int) -> None:
    row = _row(world, STORED.name, ALL_SUBS, s, q)
    edits.extra.append((Edit(STORED.name, ALL_SUBS, s, q), row | {"ledger": row["ledger"] + 500}))


def disorder(world: World, edits: Edits, s: int, q: int) -> None:
    one = _whose(world, FAILOVER, s, q)
    for here, there, gap in ((q, q + 1, -1), (q + 1, q, 2)):
        pos = int(world.position(one, s, there))
        _change(edits, DELIVERY.name, FAILOVER, s, here, t=int(world.delivered_at(s, there)), pos=pos, gap=gap)


def ids_out_of_order(world: World, edits: Edits, s: int, q: int) -> None:
    for here, there, order in ((q - 1, q, 1), (q, q - 1, -1)):
        row = _row(world, OUTCOME.name, ALL_SUBS, s, there)
        place = {name: row[name] for name in ("ledger", "entry", "batch")}
        _change(edits, OUTCOME.name, ALL_SUBS, s, here, ord=order, **place)


def _other(q: int) -> int:
    """Who does not get the keys of round q."""
    return EVEN if q % 2 else ODD


def moves_count(world: World, s: int, q: int) -> None:
    one = _whose(world, KEY_SHARED, s, q)
    world.gone.setdefault(one, []).append(int(world.place(one, s, q)))
    world.came.setdefault(_other(q), []).append(int(world.delivered_at(s, q)) + 1)


def moves(world: World, edits: Edits, s: int, q: int) -> None:
    """Move message (s, q) to the key's other consumer, between two that stay at their own."""
    t, consumer = int(world.delivered_at(s, q)) + 1, int(world.consumer(_other(q)))
    there = {"consumer": consumer, "t": t, "pos": int(world.position_at(_other(q), t)), "gap": 1, "kgap": q + 1}
    _change(edits, DELIVERY.name, KEY_SHARED, s, q, **there)
    _change(edits, ACK.name, KEY_SHARED, s, q, consumer=consumer)
    _change(edits, DELIVERY.name, KEY_SHARED, s, q + 1, gap=1)
    _change(edits, DELIVERY.name, KEY_SHARED, s, q + 2, gap=4)
    _change(edits, DELIVERY.name, KEY_SHARED, s, q + KEYS, kgap=2 * KEYS)


def key_disorder(world: World, edits: Edits, s: int, q: int) -> None:
    later = q + KEYS
    for here, there, gap, kgap in ((q, later, -KEYS, -KEYS), (later, q, KEYS + 2, 2 * KEYS)):
        t, pos = int(world.delivered_at(s, there)), int(world.position(EVEN, s, there))
        _change(edits, DELIVERY.name, KEY_SHARED, s, here, t=t, pos=pos, gap=gap, kgap=kgap)
        _change(edits, ACK.name, KEY_SHARED, s, here, t=t + 100, t_done=t + 400)
    for between in range(q + 2, later, 2):
        _change(edits, DELIVERY.name, KEY_SHARED, s, between, gap=between - later)


def torn(world: World, edits: Edits, s: int, q: int) -> None:
    row = _row(world, STORED.name, ALL_SUBS, s, q)
    _change(edits, STORED.name, ALL_SUBS, s, q, chunk=2, chunks=3)
    first = row | {"entry": row["entry"] - 2, "chunk": 0, "chunks": 3}
    edits.extra.append((Edit(STORED.name, ALL_SUBS, s, q), first))


def acked_again(world: World, edits: Edits, s: int, q: int) -> None:
    _comes(world, edits, KEY_SHARED, s, q, _after(world, s, q, SETTLED_US), again=Again.ACKED, redeliv=1)


def _since_restart(world: World, s: int, q: int) -> int:
    # Each at a time of its own.
    turn = (q // PERIOD * STREAMS + s) * world.spacing_us
    return RESTART_US + 1_000_000 + turn - int(world.delivered_at(s, q))


def survived_count(world: World, s: int, q: int) -> None:
    came(KEY_SHARED, _since_restart(world, s, q))(world, s, q)


def survived(world: World, edits: Edits, s: int, q: int) -> None:
    t = _after(world, s, q, _since_restart(world, s, q))
    _comes(world, edits, KEY_SHARED, s, q, t, again=Again.ACKED, redeliv=1)


def _left_place(s: int) -> int:
    return (AGAIN_ROUNDS // 2) * STREAMS + s


def hole_count(world: World, s: int, _q: int) -> None:
    world.gone.setdefault(SECOND, []).append(_left_place(s) - AGAIN_ROUNDS * STREAMS)


def hole(_world: World, edits: Edits, s: int, q: int) -> None:
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

    return came(KEY_SHARED, us), edit


AT_ONCE = _refused(50_000)
EARLY = _refused(500_000)
UNCOUNTED = _refused(COMES_AGAIN_US + 10_000, redeliv=0)
OFTEN = _refused(COMES_AGAIN_US + 10_000, redeliv=MAX_REDELIV + 1)


def never(_world: World, edits: Edits, s: int, q: int) -> None:
    _refuse(edits, s, q)


def due(world: World, edits: Edits, s: int, q: int) -> None:
    later = 3 * US_PER_S  # more than a broker's tick
    _change(edits, ATTEMPT.name, ALL_SUBS, s, q, deliver_at=_row(world, ATTEMPT.name, -1, s, q)["deliver_at"] + later)
    for sub in (FAILOVER, KEY_SHARED):
        wait = _row(world, DELIVERY.name, sub, s, q)["wait"] - later
        _change(edits, DELIVERY.name, sub, s, q, wait=wait)
