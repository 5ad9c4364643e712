"""The SQL of folds and screen, made from the words and clauses of the rules: they are stated there and nowhere else.

Every table is reduced on its own to buckets, these are stacked with zeros in the words of the other tables, and reduced
once more. Nothing is joined but small tables that every task holds whole; nothing is sorted, and nothing sees a window.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from assay_conformance.ledger.clauses import CHUNKED, CLAUSES, GIVEN, TALLIES, Clause, Scope, Tally
from assay_conformance.ledger.collection import US_PER_S, Counted
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME
from assay_conformance.ledger.words import ALL, BUCKET_BITS, EMPTY, WORDS, Folded, Merge

FOR_LOOKALIKES = frozenset({"sx", "dx"})
"""Words that are only read where payloads do not say themselves what they should be."""

FOR_RESTARTS = frozenset({"last_us", "least_done_us"})
"""Words that are only read where a broker was killed or stopped."""

KEYS = ("sub", "stream", "b")
REACH, SCOPES, STREAMS = "reach", "scopes", "streams"
"""Views of small tables: which subscriptions a bucket reaches, what holds for them, and the topic of each stream."""

_PLACES = ("0S sub", "0 stream", "0L b")


def bits(column: str) -> int:
    """Return how many bits hold every value of a column, whose bound was checked when the ledger was opened."""
    below = DELIVERY.column(column).below
    assert below is not None
    return (below - 1).bit_length()


_STREAM_BITS, _B_BITS = bits("stream"), bits("seq") - BUCKET_BITS
_KEYS_OF_PLACE = (
    f"cast((place >> {_STREAM_BITS + _B_BITS}) - 1 as smallint) sub, "
    f"cast((place >> {_B_BITS}) & {(1 << _STREAM_BITS) - 1} as int) stream, place & {(1 << _B_BITS) - 1} b"
)
_NAMES = tuple(word.name for word in WORDS)
_OF_STREAM = re.compile(rf"\b({'|'.join(Scope._fields)})\b")


def fold(table: str, source: str, without: Collection[str] = ()) -> str:
    """Return the buckets of the rows of a table in view `source`; words of `without` stay as of no rows.

    Plain deliveries and the others are reduced apart, for of plain ones three columns tell everything; a bucket that
    has both stands in two rows.
    """
    read = [word for word in WORDS if word.table == table and word.name not in without]
    if table != DELIVERY.name:
        return _reduced(table, source, {word.name: word.where for word in read})
    plain = _reduced(table, f"{source} where plain > 0", {word.name: word.plain for word in read if word.plain})
    others = _reduced(table, f"{source} where plain = 0", {word.name: word.where for word in read})
    return f"{plain} union all {others}"


def _reduced(table: str, rows: str, where: Mapping[str, str]) -> str:
    """`where`: word -> of which of these rows it is. Others of the table stay as of no rows."""
    words = {
        word.name: f"{_value(word, where[word.name]) if word.name in where else _empty(word)}"
        for word in WORDS
        if word.table == table
    }
    return _grouped(_place("sub" if table in GIVEN else str(NONE), "stream", f"seq >> {BUCKET_BITS}"), words, rows)


def _grouped(place: str, words: Mapping[str, str], rows: str) -> str:
    """`words` of each bucket; a hash of one number costs a sixth less than one of three columns."""
    inner = ", ".join(f"{value} {name}" for name, value in words.items())
    return (
        f"select {_KEYS_OF_PLACE}, {', '.join(words)} from (select {place} place, {inner} from {rows} group by {place})"
    )


def _place(sub: str, stream: str, b: str) -> str:
    """Return a bucket's number."""
    above = f"((cast({sub} as bigint) + 1) << {_STREAM_BITS + _B_BITS})"
    return f"({above} | (cast({stream} as bigint) << {_B_BITS}) | ({b}))"


def _value(word: Folded, where: str) -> str:
    always = where == ALL
    match word.merge:
        case Merge.OR | Merge.XOR:
            inner = word.value if always else f"if({where}, {word.value}, 0L)"
            return f"{word.merge.value}({inner})"
        case Merge.SUM:
            return "count(*)" if always else f"count_if({where})"
        case Merge.MIN | Merge.MAX:
            inner = word.value if always else f"if({where}, {word.value}, null)"
            return f"coalesce({word.merge.value}(cast({inner} as bigint)), {_empty(word)})"


def _empty(word: Folded) -> str:
    return f"{getattr(EMPTY, word.name)}L"


def stacked(sources: Mapping[str, str]) -> str:
    """Return the folds of every table (name -> a query) as rows of all words."""
    return " union all ".join(_widened(table, query) for table, query in sources.items())


def _widened(table: str, query: str) -> str:
    words = ", ".join(word.name if word.table == table else f"{_empty(word)} {word.name}" for word in WORDS)
    return f"select {', '.join(KEYS)}, {words} from ({query})"


def merged(stack: str) -> str:
    """Return the query for one row for each bucket of a stack."""
    words = {word.name: f"{word.merge.value}({word.name})" for word in WORDS}
    return _grouped(_place(*KEYS), words, f"({stack})")


def reached(stack: str) -> str:
    """Return the query for one row for each bucket of each subscription, with the words of its stream in it."""
    words = ", ".join(f"u.{word}" for word in _NAMES)
    return merged(
        f"select /*+ broadcast(r) */ r.reached sub, u.stream, u.b, {words} from ({stack}) u "
        f"join {REACH} r on u.sub = r.sub and u.stream = r.stream"
    )


def screen(stack: str, clauses: Iterable[Clause] = tuple(CLAUSES.values())) -> str:
    """Return a query for flagged buckets, each with a mask of the clauses that hold, in their order, and one row with
    mask 0 for all others. Every row has how many buckets it stands for, and how often each tally occurred in them."""
    mask = " | ".join(f"if({_condition(clause)}, {1 << place}L, 0L)" for place, clause in enumerate(clauses)) or "0L"
    tallies = ", ".join(f"cast({_counted(tally)} as bigint) {name}" for name, tally in tally_columns().items())
    judged = (
        f"select /*+ broadcast(s) */ g.sub, g.stream, g.b, {mask} mask, {tallies} "
        f"from ({reached(stack)}) g join {SCOPES} s on g.sub = s.of_sub and g.stream = s.of_stream"
    )
    keys = {"sub": "smallint", "stream": "int", "b": "bigint"}
    folded = ", ".join(f"if(mask = 0, cast({NONE} as {kind}), {name}) {name}" for name, kind in keys.items())
    sums = ", ".join(f"sum({name}) {name}" for name in tally_columns())
    return (
        f"select sub, stream, b, mask, count(*) buckets, {sums} from "
        f"(select {folded}, mask, {', '.join(tally_columns())} from ({judged})) group by sub, stream, b, mask"
    )


def tally_columns() -> dict[str, Tally]:
    """Return by column of the screen the tally that it holds."""
    return {f"tally_{place}": tally for place, tally in enumerate(TALLIES.values())}


def _condition(clause: Clause) -> str:
    return f"({clause.sql})" if clause.of_subscription else f"(s.once = 1 and ({_by_stream(clause.sql)}))"


def _counted(tally: Tally) -> str:
    return tally.sql if tally.of_subscription else f"if(s.once = 1, {_by_stream(tally.sql)}, 0)"


def _by_stream(text: str) -> str:
    """Return the text with what is read once for a stream beside one of its subscriptions, by what holds for the
    stream itself."""
    return _OF_STREAM.sub(r"s.by_stream.\1", text)


_SERIES: Mapping[str, tuple[str, str]] = {
    ATTEMPT.name: (f"'{Counted.SENT}'", ALL),
    OUTCOME.name: (f"'{Counted.STORED}'", "code = 0"),
    DELIVERY.name: (f"if(again > 0 or redeliv > 0, '{Counted.AGAIN}', '{Counted.FIRST}')", ALL),
    ACK.name: (f"if(kind = 1, '{Counted.REFUSED}', '{Counted.ACKED}')", ALL),
}
"""Table -> what its rows count as, and which of them."""

IN_SERIES = tuple(_SERIES)
SECOND = f"cast(floor(t / {US_PER_S}) as int)"


def counted(table: str) -> tuple[str, str]:
    """Return what a row of the table counts as, and whether it does; SQL over its columns."""
    return _SERIES[table]


def series(table: str, source: str) -> str | None:
    """Return the query for messages a second, by topic or subscription; None for a table without times."""
    if table not in _SERIES:
        return None
    what, where = _SERIES[table]
    if table in GIVEN:
        return f"select {what} what, cast(sub as int) of, {SECOND} second, count(*) n from {source} group by 1, 2, 3"
    return (
        f"select /*+ broadcast(x) */ {what} what, x.topic of, {SECOND} second, count(*) n from {source} join {STREAMS} "
        f"x using (stream) where {where} group by 1, 2, 3"
    )


CHUNKS_OF = (
    "select stream, seq, bit_or(shiftleft(1L, cast(chunk & 63 as int))) cb, max(chunks) cm from {source} "
    "where chunks > 1 group by stream, seq"
)
"""The fold of messages in chunks: which of them are there, and how many there should be."""


def chunked(source: str) -> str:
    """Return the query for the buckets of messages that are incomplete, of a view of such folds."""
    whole = f"select stream, seq, bit_or(cb) cb, max(cm) cm from {source} group by stream, seq"
    return f"select distinct stream, seq >> {BUCKET_BITS} b from ({whole}) where {CHUNKED.flagged}"


def differing(one: str, other: str) -> str:
    """Return the query for the keys of the buckets on which two queries do not agree."""
    hashed = f"{', '.join(KEYS)}, xxhash64({', '.join(_NAMES)}) words"
    return (
        f"select {', '.join(KEYS)} from (select {hashed} from ({one}) union all select {hashed} from ({other})) "
        f"group by {', '.join(KEYS)} having count(*) <> 2 or min(words) <> max(words)"
    )


def furthest(word: str, source: str) -> str:
    """Return the query for the greatest number that `word` holds, by (sub, stream), of a view of folds."""
    highest = f"b * {1 << BUCKET_BITS} + length(bin({word})) - 1"
    return f"select sub, stream, max({highest}) seq from {source} where {word} <> 0 group by sub, stream"


NOTHING = stacked({ATTEMPT.name: f"select {', '.join(_PLACES)}, 0L sb, 0L sx where false"})
"""The stack of a ledger without rows."""
