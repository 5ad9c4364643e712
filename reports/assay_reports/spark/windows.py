"""How the messages of each fault window fared: a join of few rows, since only what was sent in a window takes part.

Where windows hold more messages than a person needs to know quantiles by, every so many buckets of them are looked at,
and the counts are of those.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from assay_conformance.ledger.clauses import covers
from assay_conformance.ledger.collection import Small, Window
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, OUTCOME
from assay_conformance.ledger.words import BUCKET_BITS, SQL_BIT
from assay_reports.ledgers.opening import BadPart, Ledger
from assay_reports.spark import views

MOST_MESSAGES = 1_000_000
_EPOCHS, _SENT, _INSIDE, _WHOLE, _MESSAGES = "epochs", "sent_inside", "inside", "whole", "messages_inside"


def windows(session: Any, ledger: Ledger, small: Small, bad: Iterable[BadPart] = ()) -> tuple[Window, ...]:
    """Return the figures of each epoch, as `collection.windows` does of rows in memory."""
    if not small.epochs:
        return ()
    views.show_rows(session, ledger, (ATTEMPT, OUTCOME, DELIVERY), bad)
    _show_small(session, small)
    inside = session.sql(
        f"select /*+ broadcast(e) */ count(*) n from raw_attempt a join {_EPOCHS} e on a.t between e.t_from and e.t_to "
        "where a.attempt = 0"
    ).first()
    every = -(-inside.n // MOST_MESSAGES) or 1
    session.sql(_sent(every)).persist().createOrReplaceTempView(_SENT)
    session.sql(_inside()).createOrReplaceTempView(_INSIDE)
    session.sql(_messages()).persist().createOrReplaceTempView(_MESSAGES)
    try:
        found = {row.epoch: row for row in session.sql(_bounds()).collect()}
    finally:
        session.table(_MESSAGES).unpersist()
        session.table(_SENT).unpersist()
    return tuple(_window(epoch, found.get(epoch)) for epoch in small.epochs)


def _window(epoch: int, row: Any) -> Window:
    if row is None:
        return Window(epoch, 0, 0, 0)
    quantiles = [-1 if value is None else int(value) for value in (row.p50, row.p99, row.most)]
    return Window(epoch, row.messages, row.lost, row.again, *quantiles)


def _show_small(session: Any, small: Small) -> None:
    kinds = {"epoch": pa.int32(), "t_from": pa.int64(), "t_to": pa.int64()}
    never = (1 << 62) - 1
    rows = [(one.epoch, one.t_from, never if one.t_to is None else one.t_to) for one in small.epochs.values()]
    views.show(session, _EPOCHS, kinds, rows)
    wanting = [
        (stream.stream, sum(bool(sub.whole) and covers(sub, stream.topic) for sub in small.subscriptions.values()))
        for stream in small.streams.values()
    ]
    views.show(session, _WHOLE, {"stream": pa.int32(), "subs": pa.int64()}, wanting)
    whole = [(sub.sub, sub.whole) for sub in small.subscriptions.values()]
    views.show(session, "whole_subs", {"sub": pa.int16(), "whole": pa.int64()}, whole)


def _sent(every: int) -> str:
    """Messages with the time of their first attempt, in each window that it lies in."""
    return (
        f"select /*+ broadcast(e) */ e.epoch, a.stream, a.seq, a.t from raw_attempt a "
        f"join {_EPOCHS} e on a.t between e.t_from and e.t_to "
        f"where a.attempt = 0 and (a.seq >> {BUCKET_BITS}) % {every} = 0"
    )


def _inside() -> str:
    """Return the same as bits of their buckets, few enough rows for every task to hold."""
    bucket = f"stream, seq >> {BUCKET_BITS}"
    return f"select {bucket} b, bit_or({SQL_BIT}) word from {_SENT} group by {bucket}"


def _of_these(rows: str) -> str:
    return f"join {_INSIDE} i on {rows}.stream = i.stream and seq >> {BUCKET_BITS} = i.b where i.word & {SQL_BIT} <> 0"


def _messages() -> str:
    """One row for each message of a window and each subscription that got it, or one without."""
    got = (
        f"select /*+ broadcast(i) */ sub, d.stream, seq, min(t) t, count(*) n from raw_delivery d {_of_these('d')} "
        "group by sub, d.stream, seq"
    )
    confirmed = (
        "select /*+ broadcast(i) */ distinct o.stream, seq, 1 confirmed "
        f"from raw_outcome o {_of_these('o')} and code = 0"
    )
    return (
        "select s.epoch, s.stream, s.seq, coalesce(o.confirmed, 0) confirmed, g.t - s.t latency, "
        f"coalesce(g.n - 1, 0) again, coalesce(w.whole, 0) whole from {_SENT} s "
        f"left join ({confirmed}) o on o.stream = s.stream and o.seq = s.seq "
        f"left join ({got}) g on g.stream = s.stream and g.seq = s.seq left join whole_subs w on w.sub = g.sub"
    )


def _bounds() -> str:
    by_message = (
        f"select epoch, stream, seq, max(confirmed) confirmed, sum(whole) having, sum(again) again from {_MESSAGES} "
        "group by epoch, stream, seq"
    )
    counts = (
        f"select m.epoch, count(*) messages, sum(if(confirmed = 1, w.subs - having, 0)) lost, sum(again) again "
        f"from ({by_message}) m join {_WHOLE} w using (stream) group by m.epoch"
    )
    quantiles = (
        "select epoch, percentile_disc(0.5) within group (order by latency) p50, "
        "percentile_disc(0.99) within group (order by latency) p99, max(latency) most "
        f"from {_MESSAGES} where latency is not null group by epoch"
    )
    return f"select c.*, q.p50, q.p99, q.most from ({counts}) c left join ({quantiles}) q on q.epoch = c.epoch"
