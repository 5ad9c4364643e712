"""The audit: certificates computed again, exactly, and compared with those in the ledger.

Certificates are what lets the screen judge order and waits row by row, so whoever wrote them is checked: on one stream
of 64, chosen by the ledger's seed, or on all of them. The exact reference is `ledger.certificates`; it needs the rows
of a stream in memory, so streams are taken in groups of about `GROUP_ROWS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from assay_conformance.ledger.certificates import of_consumer, of_outcomes, plain
from assay_conformance.ledger.rows import Ack, Delivery, Outcome
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, OUTCOME
from assay_reports.ledgers.opening import Ledger

SHARE = 64
GROUP_ROWS = 400_000
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
    """Compute the certificates of a sample of the streams again, or of all."""
    streams = [stream.stream for stream in ledger.small["stream"]]
    chosen = streams if full else sample(streams, ledger.info.seed)
    rows = 0
    first: list[Difference] = []
    count = 0
    for group in _groups(chosen, ledger, len(streams)):
        looked_at, differences = _of_streams(ledger, group)
        rows += looked_at
        count += len(differences)
        first += differences[: MAX_DIFFERENCES - len(first)]
    return Audit(len(chosen), len(streams), rows, tuple(first), count)


def sample(streams: Sequence[int], seed: int) -> list[int]:
    """One of 64, spread evenly from a place that the seed gives; at least one where there are any."""
    return list(streams[seed % min(SHARE, len(streams)) :: SHARE]) if streams else []


def _groups(chosen: Sequence[int], ledger: Ledger, of_streams: int) -> Iterator[Sequence[int]]:
    rows = ledger.rows(DELIVERY.name) + ledger.rows(ACK.name) + ledger.rows(OUTCOME.name)
    size = max(1, GROUP_ROWS * of_streams // max(1, rows))
    return (chosen[start : start + size] for start in range(0, len(chosen), size))


def _of_streams(ledger: Ledger, streams: Sequence[int]) -> tuple[int, list[Difference]]:
    where = pc.field("stream").isin(list(streams))
    outcomes: defaultdict[int, list[Outcome]] = defaultdict(list)
    deliveries: defaultdict[int, list[Delivery]] = defaultdict(list)
    acks: defaultdict[int, list[Ack]] = defaultdict(list)
    for outcome in ledger.read(OUTCOME, where):
        outcomes[outcome.stream].append(outcome)
    for delivery in ledger.read(DELIVERY, where):
        deliveries[delivery.consumer].append(delivery)
    for ack in ledger.read(ACK, where):
        acks[ack.consumer].append(ack)
    timed = where & pc.field("deliver_at").is_valid()
    due = {(sent.stream, sent.seq): sent.deliver_at for sent in ledger.read(ATTEMPT, timed)}
    differences = [one for rows in outcomes.values() for one in _outcomes(rows)]
    for consumer, rows in deliveries.items():
        differences += _deliveries(rows, acks[consumer], due)
    looked_at = sum(map(len, outcomes.values())) + sum(map(len, deliveries.values()))
    return looked_at, sorted(differences, key=lambda one: one[:4])


def _outcomes(rows: list[Outcome]) -> Iterator[Difference]:
    # Of equal times the parts' own order is kept, which is that of writing.
    rows.sort(key=lambda row: row.t)
    for row, exact in zip(rows, of_outcomes(rows), strict=True):
        if row.ord != exact:
            yield Difference(OUTCOME.name, row.stream, row.seq, "ord", row.ord, exact)


def _deliveries(rows: list[Delivery], acks: list[Ack], due: dict[tuple[int, int], int]) -> Iterator[Difference]:
    rows.sort(key=lambda row: row.pos)
    for row, certified in zip(rows, of_consumer(rows, acks, due), strict=True):
        for name, exact in (*certified._asdict().items(), ("plain", plain(row))):
            if (found := getattr(row, name)) != exact:
                yield Difference(DELIVERY.name, row.stream, row.seq, name, found, exact)
