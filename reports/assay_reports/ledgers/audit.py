"""The audit: certificates computed again, exactly, and compared with those in the ledger.

Certificates are what lets the screen judge order and waits row by row, so whoever wrote them is checked: on one stream
of 64, chosen by the ledger's seed, or on all of them. The exact reference is `ledger.certificates`; it needs the rows
of a stream in memory, so streams are taken in groups of about `GROUP_ROWS`. A sample costs the same however large the
ledger is: of outcomes and deliveries about `SAMPLE_ROWS` each, and of a stream that has more, its beginning: a
certificate speaks of nothing that came later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from assay_conformance.ledger.certificates import of_consumer, of_outcomes, plain
from assay_conformance.ledger.rows import Ack, Delivery, Outcome
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME, Table
from assay_reports.ledgers.layout import schema
from assay_reports.ledgers.opening import Filter, Ledger, as_rows
from assay_reports.ledgers.parquet import UNREADABLE, batches

SHARE = 64
GROUP_ROWS = 400_000
SAMPLE_ROWS = 100_000
MAX_DIFFERENCES = 20


class Difference(NamedTuple):
    """A row of the ledger whose certificate is another one when it is computed exactly."""

    table: str
    stream: int
    seq: int
    certificate: str
    found: int | None
    exact: int | None

    def __str__(self) -> str:
        return (
            f"{self.table} where stream = {self.stream} and seq = {self.seq}: "
            f"{self.certificate} is {self.found}, exactly {self.exact}"
        )


class Audit(NamedTuple):
    """`differences`: the first of them; `differing`: how many there are."""

    streams: int
    of_streams: int
    rows: int
    differences: tuple[Difference, ...]
    differing: int


def audit(ledger: Ledger, full: bool = False) -> Audit:
    """Compute the certificates of a sample of the streams again, or of all.

    OSError names a part that cannot be read: by a sample only where its rows are needed, and else any part.
    """
    damaged = ledger.damaged(part for parts in ledger.parts.values() for part in parts) if full else ()
    for part in (*ledger.bad, *damaged):
        # A certificate speaks of all rows before it: without some of them it cannot be computed.
        raise OSError(str(part))
    try:
        return _audit(ledger, full)
    except UNREADABLE as error:
        raise OSError(str(error)) from error


def _audit(ledger: Ledger, full: bool) -> Audit:
    streams = [stream.stream for stream in ledger.small["stream"]]
    chosen = streams if full else _few(sample(streams, ledger.info.seed), ledger, len(streams))
    most = None if full else SAMPLE_ROWS
    rows = 0
    first: list[Difference] = []
    count = 0
    for group in _groups(chosen, ledger, len(streams)):
        looked_at, differences = _of_streams(ledger, group, most)
        rows += looked_at
        count += len(differences)
        first += differences[: MAX_DIFFERENCES - len(first)]
    return Audit(len(chosen), len(streams), rows, tuple(first), count)


def sample(streams: Sequence[int], seed: int) -> list[int]:
    """Return one stream of every 64, at equal distances from a start that the seed gives; one at least, if there are
    any."""
    return list(streams[seed % min(SHARE, len(streams)) :: SHARE]) if streams else []


def _few(chosen: list[int], ledger: Ledger, of_streams: int) -> list[int]:
    """So many of the sample as hold no more rows than one group, spread over it."""
    wanted = max(1, SAMPLE_ROWS * of_streams // max(1, ledger.rows(OUTCOME.name), ledger.rows(DELIVERY.name)))
    return chosen[:: -(-len(chosen) // wanted)] if chosen else []


def _groups(chosen: Sequence[int], ledger: Ledger, of_streams: int) -> Iterator[Sequence[int]]:
    rows = ledger.rows(DELIVERY.name) + ledger.rows(ACK.name) + ledger.rows(OUTCOME.name)
    size = max(1, GROUP_ROWS * of_streams // max(1, rows))
    return (chosen[start : start + size] for start in range(0, len(chosen), size))


def _of_streams(ledger: Ledger, streams: Sequence[int], most: int | None) -> tuple[int, list[Difference]]:
    """`most`: of the rows of a table only the first so many are looked at."""
    where = pc.field("stream").isin(list(streams))
    outcomes: defaultdict[int, list[Outcome]] = defaultdict(list)
    deliveries: defaultdict[int, list[Delivery]] = defaultdict(list)
    for outcome in ledger.read(OUTCOME, _first(ledger, OUTCOME, "t", where, most)):
        outcomes[outcome.stream].append(outcome)
    for delivery in ledger.read(DELIVERY, _first(ledger, DELIVERY, "pos", where, most)):
        deliveries[delivery.consumer].append(delivery)
    acks = _acks(ledger, where, {consumer: max(row.t for row in rows) for consumer, rows in deliveries.items()})
    greatest = max((row.seq for rows in deliveries.values() for row in rows), default=-1)
    timed = where & pc.field("deliver_at").is_valid() & (pc.field("seq") <= greatest)
    due = {(sent.stream, sent.seq): sent.deliver_at for sent in ledger.read(ATTEMPT, timed)}
    differences = [one for rows in outcomes.values() for one in _outcomes(rows)]
    for consumer, rows in deliveries.items():
        differences += _deliveries(rows, acks[consumer], due)
    looked_at = sum(map(len, outcomes.values())) + sum(map(len, deliveries.values()))
    return looked_at, sorted(differences, key=lambda one: one[:4])


def _first(ledger: Ledger, table: Table, column: str, where: Filter, most: int | None) -> Filter:
    """Of the rows `where` those with the least values of a column: `most` of them, or all where that is None."""
    if most is None or ledger.rows(table.name) <= most:
        return where
    least: Any = np.empty(0, np.int64)
    cut = False
    for batch in batches(ledger.paths(table.name), ledger.files, schema(table), [column], where):
        least = np.concatenate((least, batch.column(0).to_numpy()))
        if len(least) > most:
            least, cut = np.partition(least, most)[: most + 1], True
    return where & (pc.field(column) < int(least.max())) if cut else where


def _acks(ledger: Ledger, where: Filter, until: dict[int, int]) -> defaultdict[int, list[Ack]]:
    """Return what each consumer said before a time; what it said later is in no certificate of what it had got by
    then."""
    found: defaultdict[int, list[Ack]] = defaultdict(list)
    if not until:
        return found
    consumers = np.array(sorted(until))
    times = np.array([until[consumer] for consumer in consumers.tolist()])
    for content in ledger.contents(ACK, where):
        consumer, t = (content.column(name).to_numpy() for name in ("consumer", "t"))
        at = np.searchsorted(consumers, consumer).clip(max=len(consumers) - 1)
        for ack in as_rows(ACK, content.filter((consumers[at] == consumer) & (t < times[at]))):
            found[ack.consumer].append(ack)
    return found


def _outcomes(rows: list[Outcome]) -> Iterator[Difference]:
    rows.sort(key=lambda row: row.t)
    heard = Counter(row.t for row in rows)
    for row, exact in zip(rows, of_outcomes(rows), strict=True):
        # In which order those of one microsecond were heard stands nowhere; the rows after them do not depend on it.
        if row.ord != exact and heard[row.t] == 1:
            yield Difference(OUTCOME.name, row.stream, row.seq, "ord", row.ord, exact)


def _deliveries(rows: list[Delivery], acks: list[Ack], due: dict[tuple[int, int], int]) -> Iterator[Difference]:
    rows.sort(key=lambda row: row.pos)
    for row, certified in zip(rows, of_consumer(rows, acks, due), strict=True):
        for name, exact in (*certified._asdict().items(), ("plain", plain(row))):
            if (found := getattr(row, name)) != exact:
                yield Difference(DELIVERY.name, row.stream, row.seq, name, found, exact)
