"""How long messages took over the whole run: two scans that keep a bounded sample, and a join of what they kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay_conformance.ledger.spans import Span, Spans, every, taken_sql, width_us
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY
from assay_reports.ledgers.opening import BadPart, Ledger
from assay_reports.spark import views


def spans(session: Any, ledger: Ledger, bad: Iterable[BadPart] = ()) -> Spans:
    """As `ledger.spans` says it of rows in memory."""
    bad = tuple(bad)
    left_out = {part.file for part in bad}
    parts = [part for part in ledger.parts[ATTEMPT.name] if part.file not in left_out]
    first = [part.t_from for part in parts if part.t_from is not None]
    last = [part.t_to for part in parts if part.t_to is not None]
    if not (first and last):
        return Spans()
    width, one_in = width_us(min(first), max(last)), every(sum(part.rows for part in parts))
    views.show_rows(session, ledger, (ATTEMPT, DELIVERY), bad)
    told = session.sql(_told(width, one_in)).collect()
    return Spans(width, one_in, tuple(Span(*(int(value) for value in row)) for row in told))


def _told(width_us: int, one_in: int) -> str:
    taken = f"where {taken_sql(one_in)}" if one_in > 1 else ""
    sent = f"select stream, seq, min(t) t from {views.RAW}{ATTEMPT.name} {taken} group by stream, seq"
    given = f"select sub, stream, seq, min(t) t from {views.RAW}{DELIVERY.name} {taken} group by sub, stream, seq"
    took = (
        f"select cast(floor(s.t / {width_us}) as bigint) number, g.t - s.t took from ({sent}) s "
        f"join ({given}) g on s.stream = g.stream and s.seq = g.seq"
    )
    return (
        "select number, count(*) latencies, percentile_disc(0.5) within group (order by took) p50, "
        "percentile_disc(0.99) within group (order by took) p99, max(took) most "
        f"from ({took}) group by number order by number"
    )
