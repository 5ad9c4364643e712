"""Whose each key was and in which order it came, as `ledger.keys` says of rows in memory: for each of the two an
aggregate, and a closer look at the keys that it does not clear."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.keys import MOST_MOVED, Moved, Overtaken, Turn, calms, crews, crossing, moved
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


_CREWS, _STINTS, _UNCLEAR, _CAME = "crews", "stints", "unclear", "came"
_IN_TURN = f"{_COUNTS} and d.wait is null"
_LINE = "sub, stream, key"


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


# --- in which order --------------------------------------------------------------------------------------------------


def overtaken(session: Any, ledger: Ledger, small: Small, bad: Iterable[BadPart] = ()) -> tuple[Overtaken, ...]:
    """As `ledger.keys.overtaken` says it of rows. Most keys are cleared by what their consumers had of them at the
    least and the most; only the messages of others are put in order."""
    of = crews(small, ledger.info)
    if not of:
        return ()
    views.show_rows(session, ledger, (DELIVERY,), bad)
    kinds = {"of": pa.int16(), "crew": pa.int32(), "from_us": pa.int64(), "to_us": pa.int64()}
    views.show(session, _CREWS, kinds, [(one.sub, one.number, one.from_us, one.to_us) for one in of])
    session.sql(_stints()).createOrReplaceTempView(_STINTS)
    session.sql(_unclear()).persist().createOrReplaceTempView(_UNCLEAR)
    try:
        session.sql(_came()).createOrReplaceTempView(_CAME)
        found = session.sql(_overtaken()).collect()
    finally:
        session.table(_UNCLEAR).unpersist()
    return tuple(Overtaken(*row) for row in found)


def _stints() -> str:
    """What each consumer got of a key of a stream, while the consumers were the same: from the least to the greatest
    number and time."""
    return (
        f"select /*+ broadcast(c) */ d.sub, d.stream, d.key, c.crew, d.consumer, min(d.seq) first, max(d.seq) last, "
        f"min(d.t) first_us, max(d.t) last_us from raw_delivery d join {_CREWS} c on d.sub = c.of "
        f"and d.t between c.from_us and c.to_us where {_IN_TURN} group by d.sub, d.stream, d.key, c.crew, d.consumer"
    )


def _unclear() -> str:
    """Keys with a stint that does not lie wholly behind all that began before it, in time and in number."""
    before = f"partition by {_LINE} order by first_us, first rows between unbounded preceding and 1 preceding"
    return (
        f"select distinct {_LINE} from (select {_LINE}, first, first_us, max(last) over ({before}) last, "
        f"max(last_us) over ({before}) last_us from {_STINTS}) where first <= last or first_us <= last_us"
    )


def _came() -> str:
    """The messages of these keys, with who got them first."""
    return (
        f"select d.sub, d.stream, d.key, d.seq, min(struct(d.t, d.consumer)) came from raw_delivery d "
        f"left semi join {_UNCLEAR} u on d.sub = u.sub and d.stream = u.stream and d.key = u.key where {_IN_TURN} "
        "group by d.sub, d.stream, d.key, d.seq"
    )


def _overtaken() -> str:
    before = f"partition by {_LINE} order by came.t, seq rows between unbounded preceding and 1 preceding"
    furthest = f"max(struct(seq, came.t, came.consumer)) over ({before}) by"
    return (
        f"select sub, stream, seq, key, came.consumer, came.t, by.seq by_seq, by.t by_t, by.consumer by_consumer "
        f"from (select *, {furthest} from {_CAME}) where seq < by.seq and came.consumer <> by.consumer "
        f"order by sub, stream, seq, key, came.consumer, came.t limit {MOST_MOVED}"
    )
