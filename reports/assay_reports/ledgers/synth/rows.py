"""The rows of some rounds of a world, table by table, as columns of numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, STORED, AckKind, Again, Result
from assay_reports.ledgers.layout import NULL
from assay_reports.ledgers.synth.world import (
    AGAIN_ROUNDS,
    COMES_AGAIN_US,
    DELAY_US,
    FAILOVER,
    KEY_SHARED,
    KEYLESS,
    KEYS,
    LATER_STREAM,
    SIZE,
    STREAMS,
    Special,
    World,
)

BLOCK_MESSAGES = 100_000

Columns = dict[str, Any]


class Edit(NamedTuple):
    """A row of the world: the one of this message in the table. `sub` is -1 where the table has none."""

    table: str
    sub: int
    s: int
    q: int


TAKEN_OVER = "taken over"
"""As a table: the deliveries that a consumer gets of what another one had left."""


@dataclass
class Edits:
    """What anomalies do to the ordinary rows of a world. An extra row is whole, beside the one it is named by."""

    drop: set[Edit] = field(default_factory=set)
    change: dict[Edit, dict[str, int]] = field(default_factory=dict)
    extra: list[tuple[Edit, dict[str, int]]] = field(default_factory=list)


class Block:
    """The messages of rounds `start` to `stop`: of each stream one run, so that rows are sorted as they are made."""

    def __init__(self, world: World, start: int, stop: int, edits: Edits) -> None:
        self.world = world
        within = range(start, stop)
        self._dropped = [edit for edit in edits.drop if edit.q in within]
        self._changed = [(edit, values) for edit, values in edits.change.items() if edit.q in within]
        self._extra = [(edit, row) for edit, row in edits.extra if edit.q in within]
        rounds = np.arange(start, stop)
        s: Any = np.repeat(np.arange(world.streams), len(rounds))
        q = np.tile(rounds, world.streams)
        there = np.where(s == LATER_STREAM, q < world.later, world.rank(s, q) < world.ranked)
        self.s, self.q = s[there], q[there]
        self.noise = world.noise(self.s, self.q)
        self.special = world.special(self.s, self.q, self.noise)

    @cached_property
    def kept(self) -> Any:
        """Return for each message of the block whether it is stored, as an array of bool."""
        return (self.special != Special.UNKNOWN_LOST) & (self.special != Special.FAILED)

    @cached_property
    def common(self) -> Columns:
        """Return the columns that several tables share."""
        ledger, entry, batch = self.world.entries(self.s, self.q)
        return {
            "stream": self.world.stream(self.s),
            "seq": self.q,
            "key": self.world.key(self.q),
            "crc": self.world.crc(self.noise),
            "ledger": ledger,
            "entry": entry,
            "batch": batch,
        }

    def tables(self) -> Iterator[tuple[str, Columns]]:
        makers = {ATTEMPT.name: self._attempts, OUTCOME.name: self._outcomes}
        if self.world.mix:
            makers[STORED.name] = self._stored
        for table, make in makers.items():
            yield from ((table, columns) for columns in make())
        for sub in (FAILOVER, KEY_SHARED) if self.world.mix else (FAILOVER,):
            yield from ((DELIVERY.name, columns) for columns in self._deliveries(sub))
            if self.world.mix:
                yield from ((ACK.name, columns) for columns in self._acks(sub))
        for edit, row in self._extra:
            yield edit.table, {name: np.array([value]) for name, value in row.items()}

    def _attempts(self) -> Iterator[Columns]:
        base = {name: self.common[name] for name in ("stream", "seq", "key", "crc")}
        sent = self.world.sent_at(self.s, self.q, self.noise)
        base |= {"t": sent, "size": np.full(len(sent), SIZE), "attempt": np.zeros(len(sent), np.int16)}
        base["deliver_at"] = np.where(self.s == LATER_STREAM, sent + DELAY_US, NULL)
        again = self.special == Special.RESENT
        yield self._edited(ATTEMPT.name, -1, base)
        if again.any():
            yield _some(base, again) | {"t": sent[again] + 31_000, "attempt": np.ones(again.sum(), np.int16)}

    def _outcomes(self) -> Iterator[Columns]:
        names = ("stream", "seq", "ledger", "entry", "batch")
        special = self.special
        confirmed_at = self.world.confirmed_at(self.s, self.q, self.noise)
        unsure = (special == Special.UNKNOWN_LOST) | (special == Special.UNKNOWN_STORED) | (special == Special.RESENT)
        code = np.where(unsure, Result.UNKNOWN, np.where(special == Special.FAILED, Result.FAIL, Result.OK))
        base = {name: self.common[name] for name in names}
        if self.world.mix:
            for name in ("ledger", "entry", "batch"):
                base[name] = np.where(code == Result.OK, base[name], -1)
        base |= {
            "t": np.where(unsure, confirmed_at + 25_000, confirmed_at),
            "code": code,
            "attempt": np.zeros(len(code), np.int16),
        }
        base["ord"] = np.ones(len(code), np.int8)
        yield self._edited(OUTCOME.name, -1, base)
        again = special == Special.RESENT
        if again.any():
            some = _some(base, again)
            yield some | {
                "t": some["t"] + 8_000,
                "code": np.full(again.sum(), Result.OK),
                "attempt": some["attempt"] + 1,
            }

    def _stored(self) -> Iterator[Columns]:
        names = ("stream", "seq", "ledger", "entry", "batch", "crc")
        base = {name: self.common[name] for name in names}
        chunked = self.special == Special.CHUNKED
        base |= {"chunk": np.where(chunked, 2, 0), "chunks": np.where(chunked, 3, 1)}
        yield self._edited(STORED.name, -1, base, self.kept)
        some = _some(base, chunked)
        for chunk in (0, 1) if chunked.any() else ():
            yield some | {"chunk": some["chunk"] - 2 + chunk, "entry": some["entry"] - 2 + chunk}

    def _deliveries(self, sub: int) -> Iterator[Columns]:
        world, s, q = self.world, self.s, self.q
        one = world.of_failover(s, q) if sub == FAILOVER else world.of_key_shared(s, q)
        t = world.delivered_at(s, q)
        base = self._delivery(sub, one, t)
        base["pos"] = self._positions(one)
        base["gap"] = self._gaps(sub)
        base["kgap"] = world.kgap(one, q)
        if world.mix:
            due = world.sent_at(s, q, self.noise) + DELAY_US
            base["wait"] = np.where(s == LATER_STREAM, t - due, NULL)
        yield self._edited(DELIVERY.name, sub, base, self.kept)
        if world.mix:
            yield from self._taken_over() if sub == FAILOVER else self._come_again()

    def _delivery(self, sub: int, one: Any, t: Any) -> Columns:
        """Return what deliveries have in common; the certificates are those of an ordinary first one."""
        count = len(t)
        return self.common | {
            "sub": np.full(count, sub),
            "consumer": self.world.consumer(one),
            "t": t,
            "redeliv": np.zeros(count, np.int16),
            "gap": np.ones(count, np.int32),
            "kgap": np.ones(count, np.int32),
            "again": np.full(count, Again.FIRST),
            "wait": np.full(count, NULL),
            "ok": np.ones(count, np.int8),
        }

    def _positions(self, one: Any) -> Any:
        if not self.world.mix:
            return self.world.position(0, self.s, self.q)
        found: Any = np.zeros(len(self.q), np.int64)
        for number in np.unique(one):
            whose = one == number
            found[whose] = self.world.position(int(number), self.s[whose], self.q[whose])
        return found

    def _gaps(self, sub: int) -> Any:
        world, s, q = self.world, self.s, self.q
        if not world.mix:
            return np.ones(len(q), np.int32)
        # Every second round is the other consumer's, but for the stream that has one of its own.
        step = np.where((sub == KEY_SHARED) & (s < STREAMS), 2, 1)
        gaps = np.minimum(step, q + 1)
        behind = np.flatnonzero((q % KEYS == KEYLESS + step) & (s < STREAMS))
        before = q[behind] - step[behind]
        special = world.special(s[behind], before, world.noise(s[behind], before))
        lacking = (special == Special.UNKNOWN_LOST) | (special == Special.FAILED)
        gaps[behind[lacking]] += step[behind[lacking]]
        return gaps

    def _taken_over(self) -> Iterator[Columns]:
        """Yield the rounds that the first consumer of the Failover subscription had not acknowledged, at the second
        one."""
        world = self.world
        from_round = world.takeover - AGAIN_ROUNDS
        left = (self.q >= from_round) & (self.q < world.takeover) & (self.s < STREAMS)
        if not left.any() or not world.takes_over:
            return
        s, q = self.s[left], self.q[left]
        place = (q - from_round) * STREAMS + s
        t, pos = world.taken_over_at + 1 + place, world.position_left(place)
        again = _some(self._delivery(FAILOVER, np.ones_like(self.q), self.q), left)
        again |= {"t": t, "pos": pos, "gap": np.where(q == from_round, q + 1, 1)}
        again["kgap"] = np.where(q % KEYS == KEYLESS, 1, q + 1)
        yield self._edited(TAKEN_OVER, FAILOVER, again, s=s, q=q)

    def _come_again(self) -> Iterator[Columns]:
        """Yield what was refused on the Key_Shared subscription."""
        world = self.world
        refused = self.special == Special.REFUSED
        for odd in (0, 1):
            whose = refused & (self.q % 2 == odd)
            if not whose.any():
                continue
            s, q = self.s[whose], self.q[whose]
            one = int(world.of_key_shared(s, q)[0])
            t = world.again_at[one][np.searchsorted(world.refused[one], world.rank(s, q))]
            again = _some(self._delivery(KEY_SHARED, np.full_like(self.q, one), self.q), whose)
            again |= {"t": t, "pos": world.position_at(one, t), "redeliv": np.ones(len(t), np.int16)}
            yield again | {"again": np.full(len(t), Again.GOT), "wait": np.full(len(t), COMES_AGAIN_US)}

    def _acks(self, sub: int) -> Iterator[Columns]:
        world, s, q = self.world, self.s, self.q
        names = ("stream", "seq", "ledger", "entry", "batch")
        base = {name: self.common[name] for name in names} | {"sub": np.full(len(q), sub)}
        delivered = world.delivered_at(s, q)
        if sub == FAILOVER:
            left = (q >= world.takeover - AGAIN_ROUNDS) & (s < STREAMS)
            one = np.where(left, 1, world.of_failover(s, q))
            called = np.where(s == LATER_STREAM, delivered + 100, world.covered_at(q))
            base |= {"kind": np.where(s == LATER_STREAM, AckKind.ACK, AckKind.COVERED)}
        else:
            one, called = world.of_key_shared(s, q), delivered + 100
            base["kind"] = np.where(self.special == Special.REFUSED, AckKind.NACK, AckKind.ACK)
        base |= {"consumer": world.consumer(one), "t": called}
        base["t_done"] = np.where(base["kind"] == AckKind.NACK, NULL, called + 300)
        yield self._edited(ACK.name, sub, base, self.kept)
        if sub == KEY_SHARED:
            yield from self._acked_again(base)

    def _acked_again(self, base: Columns) -> Iterator[Columns]:
        refused = self.special == Special.REFUSED
        if refused.any():
            some = _some(base, refused)
            t = some["t"] + COMES_AGAIN_US + 100
            yield some | {"t": t, "t_done": t + 300, "kind": np.full(len(t), AckKind.ACK)}

    def _edited(
        self, table: str, sub: int, columns: Columns, kept: Any = None, s: Any = None, q: Any = None
    ) -> Columns:
        """Return the rows that are there, with what anomalies changed. `s`, `q`: their messages, where not the
        block's."""
        keep = np.ones(len(columns["seq"]), bool) if kept is None else kept.copy()
        s, q = (self.s, self.q) if s is None else (s, q)
        for edit, values in self._changed:
            if (edit.table, edit.sub) == (table, sub):
                at = (s == edit.s) & (q == edit.q)
                columns |= {name: np.where(at, value, columns[name]) for name, value in values.items()}
        for edit in self._dropped:
            if (edit.table, edit.sub) == (table, sub):
                keep &= (s != edit.s) | (q != edit.q)
        return columns if keep.all() else _some(columns, keep)


def _some(columns: Columns, which: Any) -> Columns:
    return {name: values[which] for name, values in columns.items()}
