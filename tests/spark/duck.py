"""The folds and the screen once more, written by hand for another engine: it shares no line with ours.

DuckDB shifts unsigned numbers, so words are unsigned here, and signed again where they leave.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

_BIT = "(1::UBIGINT << (seq & 63)::UBIGINT)"
_NEVER = "9223372036854775807"

_FOLDS = {
    "attempt": f"""
        select -1 sub, stream, seq >> 6 b, bit_or({_BIT}) sb from attempt group by all""",
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
            count(*) filter (gap < 1) badgap,
            count(*) filter (kgap < 1) badkgap,
            count(*) filter (ok = 0) bad,
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


def folds(ledger: Path) -> dict[tuple[int, int, int], dict[str, int]]:
    """(sub, stream, b) -> its words, those of them that are looked at here."""
    found: dict[tuple[int, int, int], dict[str, int]] = {}
    with duckdb.connect() as connection:
        for table, query in _FOLDS.items():
            connection.execute(f"create view {table} as select * from '{ledger}/{table}/*.parquet'")
            result = connection.execute(query)
            names = [column[0] for column in result.description or ()]
            for row in result.fetchall():
                found.setdefault(row[:3], {}).update(
                    {name: _signed(value) for name, value in zip(names[3:], row[3:], strict=True)}
                )
    return found


def _signed(value: Any) -> int:
    number = int(value)
    return number - (1 << 64) if number >= 1 << 63 else number
