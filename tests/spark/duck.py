"""The folds and the screen once more, written by hand for another engine: it shares no line with ours.

DuckDB shifts unsigned numbers, so words are unsigned here, and signed again where they leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from assay_conformance.ledger.info import LedgerInfo

_BIT = "(1::UBIGINT << (seq & 63)::UBIGINT)"
_CRC = "((crc::BIGINT & 4294967295) << (seq & 31)::BIGINT)"
_NEVER = "9223372036854775807"

_FOLDS = {
    "attempt": f"""
        select -1 sub, stream, seq >> 6 b,
            bit_or({_BIT}) sb,
            coalesce(bit_xor({_CRC}) filter (attempt = 0), 0) sx
        from attempt group by all""",
    "outcome": f"""
        select -1 sub, stream, seq >> 6 b,
            coalesce(bit_or({_BIT}) filter (code = 0), 0) rb,
            coalesce(bit_or({_BIT}) filter (code = 1), 0) xb,
            count(*) filter (code = 0 and ord < 1) badord
        from outcome group by all""",
    "delivery": f"""
        select sub, stream, seq >> 6 b,
            bit_or({_BIT}) db,
            coalesce(bit_or({_BIT}) filter (redeliv = 0), 0) fb,
            count(*) filter (redeliv = 0) fn,
            coalesce(bit_or({_BIT}) filter (redeliv > 0 or again > 0), 0) mb,
            coalesce(bit_or({_BIT}) filter (again = 2), 0) kb,
            count(*) filter (gap < 1) badgap,
            count(*) filter (kgap < 1) badkgap,
            count(*) filter (ok = 0) bad,
            coalesce(bit_xor({_CRC}) filter (redeliv = 0), 0) dx,
            max(redeliv) mr,
            count(*) filter (again > 0 and redeliv = 0) uncounted,
            coalesce(min("wait") filter (again > 0), {_NEVER}) least_nack_us,
            coalesce(min("wait") filter (again = 0), {_NEVER}) least_due_us,
            max(t) last_us
        from delivery group by all""",
    "ack": f"""
        select sub, stream, seq >> 6 b,
            coalesce(bit_or({_BIT}) filter (kind <> 1), 0) ab,
            count(*) filter (kind <> 1) an,
            coalesce(bit_or({_BIT}) filter (kind = 1), 0) nb,
            coalesce(min(t_done) filter (kind <> 1), {_NEVER}) least_done_us
        from ack group by all""",
    "stored": f"""
        select -1 sub, stream, seq >> 6 b,
            coalesce(bit_or({_BIT}) filter (chunk = 0), 0) bb,
            count(*) filter (chunk = 0) bn
        from stored group by all""",
}

_NOTHING = {
    **dict.fromkeys(("sb", "rb", "xb", "db", "fb", "mb", "kb", "ab", "nb", "bb"), "0::UBIGINT"),
    **dict.fromkeys(("sx", "dx", "fn", "an", "bn", "mr", "last_us"), "0"),
    **dict.fromkeys(("badord", "badgap", "badkgap", "bad", "uncounted"), "0"),
    **dict.fromkeys(("least_nack_us", "least_due_us", "least_done_us"), _NEVER),
}
"""What a word is where there are no rows."""

_ORDERED = "type in ('Exclusive', 'Failover')"
_SHARED = "type in ('Shared', 'Key_Shared')"
_IN_PARTITION = "promised = 'partition'"
_KEYED = f"((type = 'Key_Shared' and promised <> 'none') or ({_ORDERED} and promised = 'key'))"
_UNLIKE = "sb <> fb or fn <> bit_count(fb) or mb <> 0 or sx <> dx"
_OUTLIVED = """
    exists (from epoch where restart > 0 and epoch.sub in (-1, looked.sub)
        and least_done_us <= epoch.t_from - durable_us and last_us > coalesce(epoch.t_to, epoch.t_from))"""

_SCREEN = {
    "lost": "whole = 1 and (rb & ~db) <> 0",
    "phantom": "(db & ~sb) <> 0",
    "stored_phantom": "(bb & ~sb) <> 0",
    "failed_stored": "(xb & bb) <> 0",
    "failed_delivered": "(xb & db) <> 0",
    "ok_unstored": "read_back = 1 and (rb & ~bb) <> 0",
    "corrupt": "bad > 0",
    "unlike": f"not self_checking and checksums and ({_UNLIKE}) and (fn > 0 or mb <> 0)",
    "twice": "fn <> bit_count(fb)",
    "unasked": "(mb & ~nb) <> 0",
    "too_often": "max_redeliv >= 0 and mr > max_redeliv",
    "stored_twice": "dedup = 1 and bn <> bit_count(bb)",
    "disorder": f"{_ORDERED} and {_IN_PARTITION} and badgap > 0",
    "stored_disorder": f"{_IN_PARTITION} and badord > 0",
    "key_disorder": f"{_KEYED} and badkgap > 0",
    "at_once": f"{_SHARED} and nack_delay >= 0 and least_nack_us < least(nack_delay, 100000)",
    "too_early": f"{_SHARED} and nack_delay >= 0 and least_nack_us < nack_delay",
    "never_again": "(nb & ~ab) <> 0",
    "left": "sub in (select sub from ack where kind <> 1) and (db & ~ab) <> 0",
    "acked_again": "kb <> 0",
    "outlived": _OUTLIVED,
    "acked_twice": "an <> bit_count(ab)",
    "not_counted": f"{_SHARED} and uncounted > 0",
    "before_time": f"{_SHARED} and least_due_us < -due_early_us",
}
"""Clause -> when a bucket of a subscription calls for a look."""

_TORN = """
    select stream, seq >> 6 from (
        select stream, seq, list_distinct(list(chunk)) there, max(chunks) wanted from stored
        where chunks > 1 group by all) where len(there) <> wanted"""

Word = dict[str, int]
Flag = tuple[str, int, int]
"""(clause, stream, b)"""


def folds(ledger: Path) -> dict[tuple[int, int, int], Word]:
    """(sub, stream, b) -> its words, those of them that are looked at here."""
    found: dict[tuple[int, int, int], Word] = {}
    with _opened(ledger) as connection:
        for query in _FOLDS.values():
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            for row in result.fetchall():
                found.setdefault(row[:3], {}).update(
                    {name: _signed(value) for name, value in zip(names[3:], row[3:], strict=True)}
                )
    return found


def flags(ledger: Path, info: LedgerInfo) -> set[Flag]:
    """Every clause that holds, and where; `torn` of messages whose chunks are not all there."""
    with _opened(ledger) as connection:
        _look(connection, info)
        found: set[Flag] = set()
        for name, condition in _SCREEN.items():
            rows = connection.execute(f"select distinct stream, b from looked where {condition}").fetchall()
            found |= {(name, *row) for row in rows}
        return found | {("torn", *row) for row in connection.execute(_TORN).fetchall()}


@contextmanager
def _opened(ledger: Path) -> Iterator[Any]:
    with duckdb.connect() as connection:
        for table in _FOLDS:
            connection.execute(f"create view {table} as select * from '{ledger}/{table}/*.parquet'")
        for table in ("stream", "topic", "subscription", "epoch"):
            connection.execute(f"create table {table} as select * from '{ledger}/{table}.parquet'")
        yield connection


def _look(connection: Any, info: LedgerInfo) -> None:
    """The table `looked`: every bucket beside every subscription of its topic, with all that is known there."""
    stacked = " union all by name ".join(f"({query})" for query in _FOLDS.values())
    connection.execute(f"create table fold as {stacked}")
    connection.execute(
        """create table reach as select sub, topic from subscription, topic
        where topics = '' or list_contains(string_split(topics, ' '), topic::varchar)"""
    )
    connection.execute(
        """create table pair as select k.stream, k.b, u.* exclude (name, topics), t.dedup, t.read_back
        from (select distinct stream, b from fold) k join stream s using (stream) join topic t using (topic)
        join reach using (topic) join subscription u using (sub)"""
    )
    words = ", ".join(f"coalesce(any_value({word}), {nothing}) {word}" for word, nothing in _NOTHING.items())
    connection.execute(
        f"""create table words as select p.sub, p.stream, p.b, {words}
        from pair p join fold f on f.stream = p.stream and f.b = p.b and f.sub in (-1, p.sub) group by all"""
    )
    connection.execute(
        f"""create table looked as select *, '{info.order.value}' promised, {info.self_checking} self_checking,
            {info.checksums} checksums, {info.durable_us} durable_us, {info.due_early_us} due_early_us
        from pair join words using (sub, stream, b)"""
    )


def _signed(value: Any) -> int:
    number = int(value)
    return number - (1 << 64) if number >= 1 << 63 else number
