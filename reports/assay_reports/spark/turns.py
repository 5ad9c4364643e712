"""Whose each key was and in which order it came, as `ledger.keys` says of rows in memory: one aggregate of all first
deliveries for both, and a closer look at the keys that it does not clear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from assay_conformance.ledger.collection import Small
from assay_conformance.ledger.keys import (
    MOST_MOVED,
    Calm,
    Crew,
    Moved,
    Overtaken,
    Place,
    Turn,
    calms,
    crews,
    crossing,
    first,
    moved,
)
from assay_conformance.ledger.tables import DELIVERY, NONE, Again
from assay_reports.ledgers.opening import BadPart, Ledger
from assay_reports.spark import views
from assay_reports.spark.screen import STREAMS

MOST_SUSPECTS = 10_000
"""Keys that are looked at closely."""

_TIMES, _SHARES, _TURNS, _WANTED = "times", "shares", "turns", "wanted"
_STINTS, _UNCLEAR, _CAME = "stints", "unclear", "came"
_COUNTS = f"d.key <> {NONE} and d.batch = {NONE} and d.redeliv = 0 and d.again = {Again.FIRST.value}"
_IN_TURN = "d.wait is null"
_KEY = "sub, topic, key, calm"
_LINE = "sub, stream, key"


class Keys(NamedTuple):
    """`kept`: keys of which a second message showed whether they stay, in each calm time; `moved`, `overtaken`: what
    `ledger.keys` finds."""

    kept: int = 0
    moved: tuple[Moved, ...] = ()
    overtaken: tuple[Overtaken, ...] = ()


class Time(NamedTuple):
    """A time that lies in one calm time and one crew, or in one of them alone; both ends belong to it."""

    sub: int
    calm: int
    crew: int
    from_us: int
    to_us: int


def keys(session: Any, ledger: Ledger, small: Small, bad: Iterable[BadPart] = ()) -> Keys:
    calm, of = calms(small, ledger.info), crews(small, ledger.info)
    if not calm and not of:
        return Keys()
    views.show_rows(session, ledger, (DELIVERY,), bad)
    views.show_streams(session, small)
    kinds = {"of": pa.int16(), "calm": pa.int32(), "crew": pa.int32(), "from_us": pa.int64(), "to_us": pa.int64()}
    views.show(session, _TIMES, kinds, [tuple(one) for one in times(calm, of)])
    session.sql(_shares()).persist().createOrReplaceTempView(_SHARES)
    try:
        return Keys(*(_moved(session) if calm else (0, ())), _overtaken(session) if of else ())
    finally:
        session.table(_SHARES).unpersist()


def times(calm: Iterable[Calm], of: Iterable[Crew]) -> Iterator[Time]:
    """Yield every time during which a calm, a crew or both last, by subscription, cut where one begins or ends."""
    both: list[Calm | Crew] = [*calm, *of]
    for sub in sorted({one.sub for one in both}):
        mine = [one for one in both if one.sub == sub]
        cuts = sorted({cut for one in mine for cut in (one.from_us, one.to_us + 1)})
        for begin, end in pairwise(cuts):
            inside = {type(one): one.number for one in mine if one.from_us <= begin and end <= one.to_us + 1}
            if inside:
                yield Time(sub, inside.get(Calm, NONE), inside.get(Crew, NONE), begin, end - 1)


def _shares() -> str:
    """Return what each consumer got of a key of a stream in each of these times: how many messages, the least and the
    greatest time, and the same of those that have their place in the order of the key, with the numbers."""
    ordered = ", ".join(
        f"{merge}(if({_IN_TURN}, d.{column}, null)) {name}"
        for merge, column, name in (
            ("min", "seq", "first"),
            ("max", "seq", "last"),
            ("min", "t", "in_turn_from"),
            ("max", "t", "in_turn_to"),
        )
    )
    return (
        f"select /*+ broadcast(c) */ d.sub, d.stream, d.key, c.calm, c.crew, d.consumer, count(*) n, "
        f"min(d.t) first_us, max(d.t) last_us, {ordered} from raw_delivery d join {_TIMES} c on d.sub = c.of "
        f"and d.t between c.from_us and c.to_us where {_COUNTS} group by d.sub, d.stream, d.key, c.calm, c.crew, "
        "d.consumer"
    )


# --- whose it was ----------------------------------------------------------------------------------------------------


def _moved(session: Any) -> tuple[int, tuple[Moved, ...]]:
    session.sql(_turns()).createOrReplaceTempView(_TURNS)
    row = session.sql(f"select count_if(n > 1) kept from (select sum(n) n from {_TURNS} group by {_KEY})").first()
    pairs = crossing(Turn(*one) for one in session.sql(_suspects()).collect())
    return row.kept, moved(pairs, _firsts(session, pairs))


def _turns() -> str:
    return (
        f"select /*+ broadcast(x) */ s.sub, x.topic, s.key, s.calm, s.consumer, sum(s.n) n, min(s.first_us) first_us, "
        f"max(s.last_us) last_us from {_SHARES} s join {STREAMS} x on s.stream = x.stream where s.calm <> {NONE} "
        "group by s.sub, x.topic, s.key, s.calm, s.consumer"
    )


def _suspects() -> str:
    """Return the turns of keys that had several at once, sorted; which they are is decided by `crossing`."""
    two = "count(*) = 2 and (min(first_us) = max(first_us) or max(first_us) < min_by(last_us, first_us))"
    several = f"select {_KEY} from {_TURNS} group by {_KEY} having count(*) > 2 or {two} order by {_KEY}"
    return (
        f"select t.* from {_TURNS} t join ({several} limit {MOST_SUSPECTS}) s using ({_KEY}) order by {_KEY}, consumer"
    )


def _firsts(session: Any, pairs: Iterable[tuple[Turn, Turn]]) -> dict[Place, tuple[int, int]]:
    """Return the messages with which the second turns began."""
    places = {first(other) for _, other in pairs}
    if not places:
        return {}
    kinds = {"sub": pa.int16(), "topic": pa.int32(), "key": pa.int32(), "consumer": pa.int32(), "t": pa.int64()}
    views.show(session, _WANTED, kinds, [tuple(one) for one in places])
    same = " and ".join(f"d.{name} = w.{name}" for name in kinds if name != "topic")
    # The times once more, as numbers: by these whole row groups are passed over.
    at = ", ".join(str(one.t) for one in places)
    found = session.sql(
        f"select /*+ broadcast(w), broadcast(x) */ {', '.join(f'w.{name}' for name in kinds)}, "
        f"min(struct(d.stream, d.seq)) message from raw_delivery d join {_WANTED} w on {same} join {STREAMS} x "
        f"on d.stream = x.stream and x.topic = w.topic where {_COUNTS} and d.t in ({at}) group by all"
    ).collect()
    return {Place(*row[:-1]): tuple(row.message) for row in found}


# --- in which order --------------------------------------------------------------------------------------------------


def _overtaken(session: Any) -> tuple[Overtaken, ...]:
    """Most keys are cleared by what their consumers had of them at the least and the most; only the messages of others
    are put in order."""
    session.sql(_stints()).createOrReplaceTempView(_STINTS)
    session.sql(_unclear()).persist().createOrReplaceTempView(_UNCLEAR)
    try:
        session.sql(_came()).createOrReplaceTempView(_CAME)
        return tuple(Overtaken(*row) for row in session.sql(_behind()).collect())
    finally:
        session.table(_UNCLEAR).unpersist()


def _stints() -> str:
    """Return what each consumer got of a key of a stream, while the consumers were the same: from the least to the
    greatest number and time."""
    return (
        f"select {_LINE}, crew, consumer, min(first) first, max(last) last, min(in_turn_from) first_us, "
        f"max(in_turn_to) last_us from {_SHARES} where crew <> {NONE} and first is not null "
        f"group by {_LINE}, crew, consumer"
    )


def _unclear() -> str:
    """Keys with a stint that does not lie wholly after all that began before it, in time and in number."""
    before = f"partition by {_LINE} order by first_us, first rows between unbounded preceding and 1 preceding"
    return (
        f"select distinct {_LINE} from (select {_LINE}, first, first_us, max(last) over ({before}) last, "
        f"max(last_us) over ({before}) last_us from {_STINTS}) where first <= last or first_us <= last_us"
    )


def _came() -> str:
    """Return the messages of these keys, with who got them first."""
    return (
        f"select d.sub, d.stream, d.key, d.seq, min(struct(d.t, d.consumer)) came from raw_delivery d "
        f"left semi join {_UNCLEAR} u on d.sub = u.sub and d.stream = u.stream and d.key = u.key "
        f"where {_COUNTS} and {_IN_TURN} group by d.sub, d.stream, d.key, d.seq"
    )


def _behind() -> str:
    before = f"partition by {_LINE} order by came.t, seq rows between unbounded preceding and 1 preceding"
    furthest = f"max(struct(seq, came.t, came.consumer)) over ({before}) by"
    return (
        f"select sub, stream, seq, key, came.consumer, came.t, by.seq by_seq, by.t by_t, by.consumer by_consumer "
        f"from (select *, {furthest} from {_CAME}) where seq < by.seq and came.consumer <> by.consumer "
        f"order by sub, stream, seq, key, came.consumer, came.t limit {MOST_MOVED}"
    )
