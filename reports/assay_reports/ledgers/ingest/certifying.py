"""Certificates by the hundred thousand: what `ledger.certificates` says of each row, for many at once.

The ordinary case is vectorised: first deliveries in any order, outcomes in order. Messages that come again or were
refused, and outcomes that are out of order, are few; they go row by row. The audit compares both with the reference.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from assay_conformance.ledger.certificates import LEAST_GAP, MOST_GAP, NOT_STORED
from assay_conformance.ledger.rows import Place
from assay_conformance.ledger.tables import NONE, AckKind, Again, Result
from assay_reports.ledgers.ingest.flags import ACKED, SEEN, Flags, Times
from assay_reports.ledgers.layout import NULL

Columns = dict[str, Any]
Pair = tuple[int, ...]
"""(consumer, stream)"""
_NOTHING: Any = np.zeros(0, np.int64)


class Consumers:
    """The past of every consumer, as far as it matters. Batches come in the order of writing."""

    def __init__(self) -> None:
        self._flags: defaultdict[Pair, Flags] = defaultdict(Flags)
        self._greatest: dict[Pair, int] = {}
        self._greatest_of_key: dict[tuple[int, ...], int] = {}
        self._refused: dict[tuple[int, ...], int] = {}
        self._due: dict[int, Times] = {}

    def attempts(self, columns: Columns) -> None:
        """Take in what was sent with a time to be delivered at."""
        timed = np.flatnonzero(columns["deliver_at"] != NULL)
        for stream in np.unique(columns["stream"][timed]).tolist():
            at = timed[columns["stream"][timed] == stream]
            self._due.setdefault(stream, Times(NULL)).set(columns["seq"][at], columns["deliver_at"][at])

    def deliveries(self, columns: Columns, acks: Columns) -> Columns:
        """Return the columns gap, kgap, again and wait of a batch of one writer's deliveries.

        `acks` is what its consumers acknowledged and nacked in the same batch.
        """
        count = len(columns["seq"])
        found: Columns = {
            "gap": np.ones(count, np.int64),
            "kgap": np.ones(count, np.int64),
            "again": np.full(count, Again.FIRST, np.int64),
            "wait": np.full(count, NULL),
        }
        said = dict(groups(acks["consumer"], acks["stream"]))
        settled: dict[Pair, Any] = {}
        for pair, at in groups(columns["consumer"], columns["stream"]):
            settled[pair] = self._of_pair(pair, columns, at, acks, said.get(pair, _NOTHING), found)
        for pair, at in said.items():
            self._say(pair, acks, at, settled.get(pair, _NOTHING))
        return found

    def acked(self, pair: Pair, seqs: Any) -> Any:
        """Return for each of `seqs` whether this consumer has acknowledged it, as an array of bool."""
        return self._flags[pair].of(seqs) & ACKED != 0

    def _of_pair(self, pair: Pair, columns: Columns, at: Any, acks: Columns, said: Any, out: Columns) -> Any:
        """Return the messages of which everything that was said in this batch is taken in."""
        seqs = columns["seq"][at]
        flags = self._flags[pair]
        again = flags.of(seqs) & SEEN != 0
        again |= _repeated(seqs)
        first = at[~again]
        before = self._greatest.get(pair, -1)
        out["gap"][first], self._greatest[pair] = _steps(columns["seq"][first], before)
        self._key_gaps(pair, columns, first, out)
        if pair[1] in self._due:
            due = self._due[pair[1]].of(seqs)
            timed = due != NULL
            out["wait"][at[timed]] = columns["t"][at[timed]] - due[timed]
        settled = np.unique(seqs[again])
        if len(settled):
            self._come_again(pair, columns, at, again, acks, said, out)
        flags.set(seqs, SEEN)
        return settled

    def _key_gaps(self, pair: Pair, columns: Columns, first: Any, out: Columns) -> None:
        keyed = first[columns["key"][first] != NONE]
        if not len(keyed):
            return
        order = np.argsort(columns["key"][keyed], kind="stable")
        keyed = keyed[order]
        keys, seqs = columns["key"][keyed], columns["seq"][keyed]
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        names = [(*pair, key) for key in keys[starts].tolist()]
        before = np.array([self._greatest_of_key.get(name, -1) for name in names])
        steps, greatest = _steps_of_groups(seqs, starts, before)
        out["kgap"][keyed] = steps
        self._greatest_of_key.update(zip(names, greatest.tolist(), strict=True))

    def _come_again(
        self, pair: Pair, columns: Columns, at: Any, again: Any, acks: Columns, said: Any, out: Columns
    ) -> None:
        """Row by row, in the order of time: the deliveries of messages that came before, and what was said of them."""
        messages = np.unique(columns["seq"][at][again])
        rows = at[np.isin(columns["seq"][at], messages)]
        said = said[np.isin(acks["seq"][said], messages)]
        acked = set(messages[self.acked(pair, messages)].tolist())
        repeated = dict(zip(at.tolist(), again.tolist(), strict=True))
        # What is said in the microsecond of a delivery is said of it, not before it.
        events = [(int(t), 0, int(row)) for t, row in zip(columns["t"][rows], rows, strict=True)]
        for row in said.tolist():
            effect = acks["t"][row] if acks["kind"][row] == AckKind.NACK else acks["t_done"][row]
            if effect != NULL:
                events.append((int(effect), 1, row))
        for t, is_said, row in sorted(events):
            if is_said:
                seq = int(acks["seq"][row])
                if acks["kind"][row] == AckKind.NACK:
                    self._refused[*pair, seq] = t
                else:
                    acked.add(seq)
                continue
            seq = int(columns["seq"][row])
            refused_at = self._refused.pop((*pair, seq), None)
            if repeated[row]:
                out["again"][row] = Again.ACKED if seq in acked else Again.GOT
                if refused_at is not None:
                    out["wait"][row] = t - refused_at

    def _say(self, pair: Pair, acks: Columns, at: Any, settled: Any) -> None:
        refused = acks["kind"][at] == AckKind.NACK
        done = at[~refused & (acks["t_done"][at] != NULL)]
        if len(done):
            self._flags[pair].set(acks["seq"][done], ACKED)
        left = at[refused]
        left = left[~np.isin(acks["seq"][left], settled)]
        for seq, t in zip(acks["seq"][left].tolist(), acks["t"][left].tolist(), strict=True):
            self._refused[*pair, seq] = t


def groups(*columns: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Return the rows of each combination of values, in their order."""
    if not len(columns[0]):
        return []
    order = np.lexsort(columns[::-1])
    change: Any = np.zeros(len(order), bool)
    change[0] = True
    for values in columns:
        change[1:] |= values[order][1:] != values[order][:-1]
    starts = np.flatnonzero(change)
    ends = [*starts[1:].tolist(), len(order)]
    return [
        (tuple(int(values[order[start]]) for values in columns), order[start:end])
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def _repeated(seqs: Any) -> Any:
    """Whether the same number stands further up."""
    order = np.argsort(seqs, kind="stable")
    found: Any = np.zeros(len(seqs), bool)
    found[order[1:]] = seqs[order][1:] == seqs[order][:-1]
    return found


def _steps(seqs: Any, before: int) -> tuple[Any, int]:
    """seq minus the greatest one before it, and the greatest one of all."""
    if not len(seqs):
        return seqs, before
    greatest = np.maximum.accumulate(np.r_[before, seqs])
    return np.clip(seqs - greatest[:-1], LEAST_GAP, MOST_GAP), int(greatest[-1])


def _steps_of_groups(seqs: Any, starts: Any, before: Any) -> tuple[Any, Any]:
    """Return the same of each group of rows that begins at `starts`, all at once."""
    # Groups are lifted above one another, so that one running maximum serves all of them.
    sizes = np.diff(np.r_[starts, len(seqs)])
    number = np.arange(len(starts))
    rank: Any = np.repeat(number, sizes)
    _, dense = np.unique(np.r_[before, seqs], return_inverse=True)
    lift = len(dense) + 1
    dense_before, dense_seqs = dense[: len(before)], dense[len(before) :]
    values: Any = np.insert(dense_seqs + rank * lift, starts, dense_before + number * lift)
    running = np.maximum.accumulate(values)
    at = np.arange(len(seqs)) + rank
    sorted_values = np.unique(np.r_[before, seqs])
    greatest_before = sorted_values[running[at] - rank * lift]
    last = np.r_[starts[1:], len(seqs)] + number
    greatest = sorted_values[running[last] - number * lift]
    return np.clip(seqs - greatest_before, LEAST_GAP, MOST_GAP), greatest


_NOWHERE = (-1, Place(NONE, NONE, NONE))


class Streams:
    """The past of every stream's outcomes: how far they got."""

    def __init__(self) -> None:
        self._furthest: dict[int, tuple[int, Place]] = {}

    def outcomes(self, columns: Columns) -> Any:
        """Return the column `ord` of a batch of one writer's outcomes, as an array of int64."""
        found: Any = np.ones(len(columns["seq"]), np.int64)
        counts = (columns["code"] == Result.OK) & (columns["attempt"] == 0) & (columns["ledger"] != NOT_STORED)
        rows = np.flatnonzero(counts)
        for (stream,), group in groups(columns["stream"][rows]):
            at = rows[group]
            self._of_stream(stream, columns, at, found)
        return found

    def _of_stream(self, stream: int, columns: Columns, at: Any, found: Any) -> None:
        seqs, ledgers, entries, batches = (columns[name][at] for name in ("seq", "ledger", "entry", "batch"))
        greatest, furthest = self._furthest.get(stream, _NOWHERE)
        columns_here = (seqs, ledgers, entries, batches)
        seqs, ledgers, entries, batches = (
            np.r_[value, column] for value, column in zip((greatest, *furthest), columns_here, strict=True)
        )
        onward = (entries[1:] > entries[:-1]) | ((entries[1:] == entries[:-1]) & (batches[1:] > batches[:-1]))
        onward = (ledgers[1:] > ledgers[:-1]) | ((ledgers[1:] == ledgers[:-1]) & onward)
        onward &= seqs[1:] > seqs[:-1]
        if onward.all():
            self._furthest[stream] = int(seqs[-1]), Place(int(ledgers[-1]), int(entries[-1]), int(batches[-1]))
            return
        self._one_by_one(stream, columns, at, found)

    def _one_by_one(self, stream: int, columns: Columns, at: Any, found: Any) -> None:
        for row in at.tolist():
            seq = int(columns["seq"][row])
            here = Place(*(int(columns[name][row]) for name in ("ledger", "entry", "batch")))
            greatest, furthest = self._furthest.get(stream, _NOWHERE)
            found[row] = 0 if seq <= greatest else 1 if here > furthest else -1
            self._furthest[stream] = max(greatest, seq), max(furthest, here)
