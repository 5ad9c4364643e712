"""The fold: 64 neighbours of a stream in one row of words. `clauses` says what in these calls for a look.

A *bucket* is (sub, stream, seq >> 6). Attempts, outcomes and what is stored do not depend on a subscription; their
buckets have sub -1, and meet those of each subscription when the screen reads them. A word is a bit a message, a count,
a sum, or an extreme; words of any two parts of a ledger merge into those of both, in any order.

Every word is stated twice, side by side: as a Python function, which is the reference, and as SQL, which is what an
engine runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from assay_conformance.ledger.rows import Ack, Attempt, Delivery, Outcome, Stored
from assay_conformance.ledger.tables import (
    ACK,
    ATTEMPT,
    DELIVERY,
    NONE,
    OUTCOME,
    STORED,
    AckKind,
    Again,
    Integrity,
    Plain,
    Result,
    Table,
)

BUCKET_BITS = 6
NEVER = (1 << 63) - 1
"""A least time where there was none."""


class Bucket(NamedTuple):
    sub: int
    stream: int
    b: int


class Merge(Enum):
    OR = "bit_or"
    XOR = "bit_xor"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


class Words(NamedTuple):
    """One bucket. The defaults are those of a bucket without rows."""

    sb: int = 0
    sx: int = 0
    rb: int = 0
    xb: int = 0
    badord: int = 0
    db: int = 0
    fb: int = 0
    fn: int = 0
    mb: int = 0
    kb: int = 0
    kn: int = 0
    badgap: int = 0
    badkgap: int = 0
    bad: int = 0
    dx: int = 0
    mr: int = 0
    gn: int = 0
    uncounted: int = 0
    wn: int = 0
    least_nack_us: int = NEVER
    dn: int = 0
    least_due_us: int = NEVER
    last_us: int = 0
    ab: int = 0
    an: int = 0
    nb: int = 0
    least_done_us: int = NEVER
    bb: int = 0
    bn: int = 0
    cn: int = 0


EMPTY = Words()
SQL_BIT = "shiftleft(1L, cast(seq & 63 as int))"
SQL_CRC = "shiftleft(cast(crc as bigint) & 4294967295L, cast(seq & 31 as int))"
ALL = "true"


@dataclass(frozen=True, slots=True)
class Folded:
    """How a word comes from the rows of one table: of which rows, what, and merged how. `value` and `where` are SQL
    over the table's columns; `of` is both in Python, None for a row that adds nothing. `plain`: `where` among plain
    deliveries, without the columns that are known of these; empty when none of them adds anything."""

    name: str
    table: str
    merge: Merge
    value: str
    where: str
    of: Callable[[Any], int | None]
    meaning: str
    plain: str = ""


_BITS = (*(1 << place for place in range(63)), -(1 << 63))


def bit(seq: int) -> int:
    """Return the message's bit in its word, a signed number of 64 bits as in SQL."""
    return _BITS[seq & 63]


def bits(word: int) -> int:
    """Return how many are set."""
    return (word & 0xFFFF_FFFF_FFFF_FFFF).bit_count()


def _crc(row: Attempt | Delivery) -> int:
    return (row.crc & 0xFFFF_FFFF) << (row.seq & 31)


def _mask(name: str, table: str, where: str, holds: Callable[[Any], bool], meaning: str, plain: str = "") -> Folded:
    of: Callable[[Any], int | None] = lambda row: _BITS[row.seq & 63] if holds(row) else None  # noqa: E731
    if holds is _always:
        of = lambda row: _BITS[row.seq & 63]  # noqa: E731
    return Folded(name, table, Merge.OR, SQL_BIT, where, of, meaning, plain)


def _count(name: str, table: str, where: str, holds: Callable[[Any], bool], meaning: str, plain: str = "") -> Folded:
    return Folded(name, table, Merge.SUM, "1L", where, lambda row: 1 if holds(row) else None, meaning, plain)


def _always(_row: Any) -> bool:
    return True


# As in `model.event`: members of enums are slow to find, and every row is asked.
_OK, _FAIL, _NACK, _BAD = Result.OK, Result.FAIL, AckKind.NACK, Integrity.BAD
_A, _O, _D, _K, _S = (table.name for table in (ATTEMPT, OUTCOME, DELIVERY, ACK, STORED))
_AGAIN = "redeliv > 0 or again > 0"
_NACKED = "again > 0 and wait is not null"
_DUE = "again = 0 and wait is not null"
_ACKED = "kind in (0, 2)"

WORDS: tuple[Folded, ...] = (
    _mask("sb", _A, ALL, _always, "asked for"),
    Folded("sx", _A, Merge.XOR, SQL_CRC, "attempt = 0", lambda r: None if r.attempt else _crc(r), "their payloads"),
    _mask("rb", _O, "code = 0", lambda r: r.code == _OK, "reported as stored"),
    _mask("xb", _O, "code = 1", lambda r: r.code == _FAIL, "reported as failed"),
    _count("badord", _O, "code = 0 and ord < 1", lambda r: r.code == _OK and r.ord < 1, "ids out of order"),
    _mask("db", _D, ALL, _always, "delivered", ALL),
    _mask("fb", _D, "redeliv = 0", lambda r: r.redeliv == 0, "delivered with a redelivery count of 0", ALL),
    _count("fn", _D, "redeliv = 0", lambda r: r.redeliv == 0, "such deliveries", ALL),
    _mask("mb", _D, _AGAIN, lambda r: r.redeliv > 0 or r.again > 0, "evidently delivered again"),
    _mask("kb", _D, "again = 2", lambda r: r.again == Again.ACKED, "delivered to who had acknowledged it"),
    _count("kn", _D, "key >= 0", lambda r: r.key >= 0, "deliveries with a key", f"plain = {Plain.KEYED}"),
    _count("badgap", _D, "gap < 1", lambda r: r.gap < 1, "first deliveries after a later one"),
    _count("badkgap", _D, "kgap < 1", lambda r: r.kgap < 1, "first deliveries after a later one of their key"),
    _count("bad", _D, "ok = 0", lambda r: r.ok == _BAD, "payloads that are not what they say"),
    Folded(
        "dx", _D, Merge.XOR, SQL_CRC, "redeliv = 0", lambda r: None if r.redeliv else _crc(r), "their payloads", ALL
    ),
    Folded("mr", _D, Merge.MAX, "redeliv", ALL, lambda r: r.redeliv, "greatest redelivery count"),
    _count("gn", _D, "again > 0", lambda r: r.again > 0, "deliveries to who had it before"),
    _count("uncounted", _D, "again > 0 and redeliv = 0", lambda r: r.again > 0 and r.redeliv == 0, "uncounted ones"),
    _count("wn", _D, _NACKED, lambda r: r.again > 0 and r.wait is not None, "deliveries to who may have refused it"),
    Folded(
        "least_nack_us", _D, Merge.MIN, "wait", _NACKED, lambda r: r.wait if r.again > 0 else None, "their least wait"
    ),
    _count("dn", _D, _DUE, lambda r: r.again == 0 and r.wait is not None, "deliveries of what has a time"),
    Folded("least_due_us", _D, Merge.MIN, "wait", _DUE, lambda r: r.wait if r.again == 0 else None, "their least wait"),
    Folded("last_us", _D, Merge.MAX, "t", ALL, lambda r: r.t, "time of the last delivery", ALL),
    _mask("ab", _K, _ACKED, lambda r: r.kind != _NACK, "acknowledged"),
    _count("an", _K, _ACKED, lambda r: r.kind != _NACK, "acknowledgments"),
    _mask("nb", _K, "kind = 1", lambda r: r.kind == _NACK, "refused"),
    Folded(
        "least_done_us",
        _K,
        Merge.MIN,
        "t_done",
        _ACKED,
        lambda r: r.t_done if r.kind != _NACK else None,
        "when the first acknowledgment had ended well",
    ),
    _mask("bb", _S, "chunk = 0", lambda r: r.chunk == 0, "stored"),
    _count("bn", _S, "chunk = 0", lambda r: r.chunk == 0, "stored copies"),
    _count("cn", _S, "chunk = 0 and chunks > 1", lambda r: r.chunk == 0 and r.chunks > 1, "stored in chunks"),
)
"""In the order of `Words`. The smallest and the greatest of no rows are NEVER and 0."""


Row = Attempt | Outcome | Delivery | Ack | Stored


def fold(rows: Iterable[Row], names: Container[str] = Words._fields) -> dict[Bucket, Words]:
    """Return the words of these rows that are among `names`.

    Others stay as without rows, and so do buckets that have none of them. Of any split of a ledger the folds merge into
    that of the whole.
    """
    found: dict[tuple[int, int, int], list[int]] = {}
    wanted = {
        kind: [(place, word.of, _MERGES[word.merge]) for place, word in words if word.name in names]
        for kind, words in _BY_ROW.items()
    }
    for row in rows:
        kind = type(row)
        todo = wanted[kind]
        if not todo:
            continue
        sub = row.sub if kind in _OF_SUBSCRIPTION else NONE  # type: ignore[union-attr]
        bucket = (sub, row.stream, row.seq >> BUCKET_BITS)
        values = found.get(bucket)
        if values is None:
            values = found[bucket] = list(EMPTY)
        for place, of, merged in todo:
            value = of(row)
            if value is not None:
                values[place] = merged(values[place], value)
    return {Bucket(*bucket): Words(*values) for bucket, values in found.items()}


def merge(*folds: Mapping[Bucket, Words]) -> dict[Bucket, Words]:
    found: dict[Bucket, Words] = {}
    for one in folds:
        for bucket, words in one.items():
            found[bucket] = both(found[bucket], words) if bucket in found else words
    return found


def both(one: Words, other: Words) -> Words:
    return Words(*(_MERGES[word.merge](one[place], other[place]) for place, word in enumerate(WORDS)))


_TABLES: Mapping[type, Table] = {
    Attempt: ATTEMPT,
    Outcome: OUTCOME,
    Delivery: DELIVERY,
    Ack: ACK,
    Stored: STORED,
}
_OF_SUBSCRIPTION = (Delivery, Ack)
_BY_ROW = {
    kind: [(place, word) for place, word in enumerate(WORDS) if word.table == table.name]
    for kind, table in _TABLES.items()
}
_MERGES: Mapping[Merge, Callable[[int, int], int]] = {
    Merge.OR: operator.or_,
    Merge.XOR: operator.xor,
    Merge.SUM: operator.add,
    Merge.MIN: min,
    Merge.MAX: max,
}
