"""The order of the log, as `ledger.log` says of rows in memory: a sort, and so only where nothing else shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.log import MOST_BEHIND, Behind, InLog, unshown
from assay_conformance.ledger.tables import STORED
from assay_reports.ledgers.opening import BadPart, Ledger
from assay_reports.spark import views

_UNSHOWN, _FIRSTS = "unshown", "first_copies"


def in_log(session: Any, ledger: Ledger, small: Small, bad: Iterable[BadPart] = ()) -> InLog:
    streams = unshown(small, ledger.info) if ledger.rows(STORED.name) else ()
    if not streams:
        return InLog()
    views.show_rows(session, ledger, (STORED,), bad)
    views.show(session, _UNSHOWN, {"stream": pa.int32()}, [(stream,) for stream in sorted(streams)])
    session.sql(
        f"select /*+ broadcast(u) */ stream, seq, min(struct(ledger, entry, batch)) place from raw_stored "
        f"join {_UNSHOWN} u using (stream) where chunk = 0 group by stream, seq"
    ).createOrReplaceTempView(_FIRSTS)
    messages = session.sql(f"select count(*) - count(distinct stream) n from {_FIRSTS}").first().n
    before = "partition by stream order by place rows between unbounded preceding and 1 preceding"
    found = session.sql(
        f"select * from (select stream, seq, max(seq) over ({before}) after from {_FIRSTS}) where seq < after "
        f"order by stream, seq limit {MOST_BEHIND}"
    ).collect()
    return InLog(messages, tuple(Behind(*row) for row in found))
