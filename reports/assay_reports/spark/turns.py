"""Whose each key was, as `ledger.keys` says of rows in memory: one aggregate, and the first messages of what moved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.keys import Moved, Turn, calms, crossing, moved
from assay_conformance.ledger.rows import Delivery
from assay_conformance.ledger.tables import DELIVERY, NONE, Again
from assay_reports.ledgers.opening import BadPart, Ledger, as_rows
from assay_reports.spark import views
from assay_reports.spark.screen import STREAMS

MOST_SUSPECTS = 10_000
"""Keys that are looked at closely."""

_CALM, _TURNS, _WANTED = "calm", "turns", "wanted"
_COUNTS = f"d.key <> {NONE} and d.batch = {NONE} and d.redeliv = 0 and d.again = {Again.FIRST.value}"
_KEY = "sub, topic, key, calm"


class Keys(NamedTuple):
    """`kept`: keys of which a second message showed whether they stay, in each calm time."""

    kept: int
    moved: tuple[Moved, ...]


def keys(session: Any, ledger: Ledger, small: Small, bad: Iterable[BadPart] = ()) -> Keys:
    calm = calms(small, ledger.info)
    if not calm:
        return Keys(0, ())
    views.show_rows(session, ledger, (DELIVERY,), bad)
    views.show_streams(session, small)
    kinds = {"of": pa.int16(), "calm": pa.int32(), "from_us": pa.int64(), "to_us": pa.int64()}
    views.show(session, _CALM, kinds, [(one.sub, one.number, one.from_us, one.to_us) for one in calm])
    session.sql(_turns()).persist().createOrReplaceTempView(_TURNS)
    try:
        row = session.sql(f"select count_if(n > 1) kept from (select sum(n) n from {_TURNS} group by {_KEY})").first()
        found = session.sql(_suspects()).collect()
    finally:
        session.table(_TURNS).unpersist()
    pairs = crossing(Turn(*one) for one in found)
    return Keys(row.kept, moved(_firsts(session, pairs), small, pairs))


def _turns() -> str:
    return (
        f"select /*+ broadcast(c), broadcast(x) */ d.sub, x.topic, d.key, c.calm, d.consumer, count(*) n, "
        f"min(d.t) first_us, max(d.t) last_us from raw_delivery d join {_CALM} c on d.sub = c.of "
        f"and d.t between c.from_us and c.to_us join {STREAMS} x on d.stream = x.stream where {_COUNTS} "
        "group by d.sub, x.topic, d.key, c.calm, d.consumer"
    )


def _suspects() -> str:
    """The turns of keys that had several at once, sorted; which they are is decided by `crossing`."""
    two = "count(*) = 2 and (min(first_us) = max(first_us) or max(first_us) < min_by(last_us, first_us))"
    several = f"select {_KEY} from {_TURNS} group by {_KEY} having count(*) > 2 or {two} order by {_KEY}"
    return (
        f"select t.* from {_TURNS} t join ({several} limit {MOST_SUSPECTS}) s using ({_KEY}) order by {_KEY}, consumer"
    )


def _firsts(session: Any, pairs: Iterable[tuple[Turn, Turn]]) -> Iterable[Delivery]:
    """The deliveries with which the second turns began."""
    places = [(other.sub, other.topic, other.key, other.consumer, other.first_us) for _, other in pairs]
    if not places:
        return ()
    kinds = {"sub": pa.int16(), "topic": pa.int32(), "key": pa.int32(), "consumer": pa.int32(), "t": pa.int64()}
    views.show(session, _WANTED, kinds, places)
    same = " and ".join(f"d.{name} = w.{name}" for name in kinds if name != "topic")
    content = session.sql(
        f"select /*+ broadcast(w), broadcast(x) */ d.* from raw_delivery d join {_WANTED} w on {same} "
        f"join {STREAMS} x on d.stream = x.stream and x.topic = w.topic where {_COUNTS}"
    ).toArrow()
    return as_rows(DELIVERY, content)
