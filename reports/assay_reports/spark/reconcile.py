"""A ledger's verdicts: Spark folds and screens all rows, and the rules judge the rows of what the screen flagged.

The screen only has to be sound. What is right and what is wrong is decided by `judge_rows`, on rows, as for any
history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay_conformance.catalogue import Catalogue
from assay_conformance.ledger.clauses import CHUNKS, CLAUSES, KEEPS_KEYS, ORDER, Clause
from assay_conformance.ledger.collection import Counted, Second, Small, Sums
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, EVENTS, PARTS, STORED
from assay_conformance.ledger.words import BUCKET_BITS
from assay_conformance.model.errors import AssayError, HarnessError
from assay_conformance.model.verdict import RequirementVerdict, Verdict
from assay_reports.ledgers.naming import see_names
from assay_reports.ledgers.opening import BadPart, Ledger, smalls, without_damaged
from assay_reports.spark import folds, picking, screen, views
from assay_reports.spark.latencies import spans
from assay_reports.spark.log import in_log
from assay_reports.spark.progress import Progress
from assay_reports.spark.turns import keys
from assay_reports.spark.windows import windows

MOST_ROWS = 2_000_000
"""Rows that are judged; buckets beyond are counted."""

_PARTITIONS = "spark.sql.shuffle.partitions"
ROWS_A_TASK = 16_000_000
_ROWS_A_BUCKET = 64 * 5
_WORDS, _FLAGGED = "fold_words", "flagged"


@dataclass(frozen=True, slots=True)
class Reconciled:
    """`bad`: parts that could not be read. `flagged`: buckets that were looked at, `beyond` those that were not, by
    requirement. `picked`: rows that the rules saw; `recounted`: the raw tables were asked, and the folds agree;
    `folds_aside`: where folds lie that cannot lie beside the ledger."""

    verdicts: tuple[RequirementVerdict, ...]
    sums: Sums
    bad: tuple[BadPart, ...]
    flagged: int
    beyond: Mapping[str, int]
    picked: int
    folded_now: int
    recounted: bool
    folds_aside: str


def reconcile(
    session: Any,
    ledger: Ledger,
    catalogue: Catalogue,
    *,
    recount: bool = False,
    progress: Progress | None = None,
    most_rows: int = MOST_ROWS,
    clauses: Iterable[Clause] = tuple(CLAUSES.values()),
    aside: Path | None = None,
) -> Reconciled:
    """Judge a ledger. Folds of one that can only be read lie under `aside`.

    With `recount` the screen reads all rows again, and the folds have to say the same. HarnessError when they do not:
    then one of them is ours to mend.
    """
    reporting = progress or Progress(session=session)
    judged = partial(_reconcile, session, catalogue, recount, reporting, most_rows, tuple(clauses), aside)
    try:
        return judged(ledger)
    except AssayError:
        raise
    except Exception:
        # A part was read well, and folded, some time ago, and is damaged now: only its bytes tell.
        sound = without_damaged(ledger)
        if sound.bad == ledger.bad:
            raise
        return judged(sound)


def _reconcile(
    session: Any,
    catalogue: Catalogue,
    recount: bool,
    reporting: Progress,
    most_rows: int,
    clauses: tuple[Clause, ...],
    aside: Path | None,
    ledger: Ledger,
) -> Reconciled:
    small = smalls(ledger)
    see_names(ledger.where, small)
    if session.sparkContext.getConf().get(_PARTITIONS) is None:
        session.conf.set(_PARTITIONS, str(_partitions(ledger)))
    with reporting.stage("fold", sum(ledger.rows(table.name) for table in PARTS)):
        folded = folds.fold_parts(session, ledger, small, _to(reporting), aside)
    bad = (*ledger.bad, *folded.bad)
    stack = stack_of(session, folded)
    if recount:
        with reporting.stage("recount", sum(ledger.rows(table.name) for table in PARTS)):
            _agree(session, ledger, folded, stack)
    with reporting.stage("screen"):
        series = _series(session, folded)
        views.show_small(session, small, ledger.info, {one.of for one in series if one.what is Counted.ACKED})
        result = _screened(session, folded, stack, clauses, most_rows)
        sums = _sums(session, ledger, small, folded, series, result.exercised)
        streams = {*sums.last_seq, *(stream for _, stream in sums.last_given)}
        see_names(ledger.where, small, streams=streams, subs={sub for sub, _ in sums.last_given})
    with reporting.stage("judge"):
        singled_out = set(_singled_out(sums))
        result, picked = _picked(ledger, result, singled_out, most_rows, bad)
        bad = (*bad, *picked.bad)
        given, said = picked.rows.deliveries, picked.rows.acks
        see_names(ledger.where, small, consumers={*(row.consumer for row in given), *(row.consumer for row in said)})
        verdicts = judge_rows(picked.rows, small, ledger.info, sums, catalogue, result.beyond)
    return Reconciled(
        _doubted(verdicts, bad),
        sums,
        bad,
        len(result.buckets | singled_out),
        result.beyond,
        sum(len(rows) for rows in picked.rows),
        folded.rows,
        recount,
        folded.aside,
    )


def _singled_out(sums: Sums) -> Iterator[tuple[int, int]]:
    """Yield the buckets of what no word tells."""
    for found in (sums.moved, sums.overtaken, sums.behind):
        for one in found:
            yield one.stream, one.seq >> BUCKET_BITS


def _picked(
    ledger: Ledger, result: _Screened, singled_out: set[tuple[int, int]], most_rows: int, bad: tuple[BadPart, ...]
) -> tuple[_Screened, picking.Picked]:
    """Return the rows of as many of the buckets as there is room for: with many subscriptions they hold more than
    others."""
    while True:
        wanted = picking.ranges(result.buckets | singled_out)
        picked = picking.pick(ledger, wanted, most_rows if result.divisible else None, bad)
        if picked.whole:
            return result, picked
        result = result.halved()


def _partitions(ledger: Ledger) -> int:
    """So many that what one task holds of a fold stays small, and no more than its rows are worth starting."""
    return min(400, max(2, sum(ledger.rows(table.name) for table in PARTS) // ROWS_A_TASK))


def _to(reporting: Progress) -> folds.OnBatch:
    behind: Counter[str] = Counter()

    def batch(table: str, rows: int, _all: int) -> None:
        behind[table] = rows
        reporting.done(behind.total())

    return batch


def stack_of(session: Any, folded: folds.Folded) -> str:
    """Return a query for the stack of all folds."""
    sources = {}
    for table in PARTS:
        frame = folded.of(session, "words", (table.name,))
        if frame is not None:
            frame.createOrReplaceTempView(f"{_WORDS}_{table.name}")
            sources[table.name] = f"select * from {_WORDS}_{table.name}"
    return screen.stacked(sources) if sources else screen.NOTHING


def _agree(session: Any, ledger: Ledger, folded: folds.Folded, stack: str) -> None:
    """All rows once more; they give what the folds give, or one of them is wrong."""
    raw = screen.stacked(folds.recount(session, ledger, folded.bad))
    query = screen.differing(screen.merged(stack), screen.merged(raw))
    for first in session.sql(query).orderBy("sub", "stream", "b").limit(1).collect():
        raise HarnessError(
            f"{ledger.where}: folds and rows disagree, first at sub = {first.sub} and stream = {first.stream} and "
            f"seq >> {BUCKET_BITS} = {first.b}; remove {folded.aside or ledger.where}/fold and report this"
        )


Called = tuple[int, list[tuple[int, int]]]
"""How many buckets call for a look, and which (stream, b) of them get it."""


@dataclass(frozen=True, slots=True)
class _Screened:
    """`of`: requirement -> how many buckets call for a look, and which get it."""

    of: Mapping[str, Called]
    exercised: dict[str, int]

    @property
    def buckets(self) -> set[tuple[int, int]]:
        return {bucket for _, found in self.of.values() for bucket in found}

    @property
    def beyond(self) -> dict[str, int]:
        return {name: count - len(found) for name, (count, found) in self.of.items() if count > len(found)}

    @property
    def divisible(self) -> bool:
        return any(len(found) > 1 for _, found in self.of.values())

    def halved(self) -> _Screened:
        """With half of what gets a look, and one of each at least."""
        return _Screened(
            {name: (count, found[: -(-len(found) // 2)]) for name, (count, found) in self.of.items()}, self.exercised
        )


def _screened(session: Any, folded: folds.Folded, stack: str, clauses: tuple[Clause, ...], most_rows: int) -> _Screened:
    room = most_rows // _ROWS_A_BUCKET
    chunked = _chunked(session, folded, max(1, room))
    # Kept: what follows reads it twice.
    result = session.sql(screen.screen(stack, clauses)).persist()
    try:
        result.createOrReplaceTempView(_FLAGGED)
        exercised, called = _counted(session, clauses)
        share = picking.shares({**called, CHUNKS: chunked[0]}, room)
        of_clause = _chosen(session, clauses, called, share)
    finally:
        result.unpersist()
    of_clause[CHUNKS] = (chunked[0], chunked[1][: share[CHUNKS]])
    return _Screened(of_clause, exercised)


def _counted(session: Any, clauses: tuple[Clause, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """By requirement: how often it was put to the test, and how many buckets call for a look."""
    columns, masks = screen.tally_columns(), _masks(clauses)
    row = session.sql(
        "select "
        + ", ".join(
            [
                *(f"coalesce(sum({name}), 0) {name}" for name in columns),
                *(f"count_if(mask & {mask}L <> 0) n{place}" for place, mask in enumerate(masks.values())),
            ]
        )
        + f" from {_FLAGGED}"
    ).first()
    exercised = {tally.requirement: row[name] for name, tally in columns.items() if row[name]}
    return exercised, {name: row[f"n{place}"] for place, name in enumerate(masks) if row[f"n{place}"]}


def _masks(clauses: tuple[Clause, ...]) -> dict[str, int]:
    masks: dict[str, int] = {}
    for place, clause in enumerate(clauses):
        masks[clause.requirement] = masks.get(clause.requirement, 0) | 1 << place
    return masks


def _chosen(
    session: Any, clauses: tuple[Clause, ...], called: Mapping[str, int], share: Mapping[str, int]
) -> dict[str, Called]:
    """By requirement; each gets its share of what can be looked at."""
    masks = {name: mask for name, mask in _masks(clauses).items() if name in called}
    if all(count <= share[name] for name, count in called.items()):
        return _all(session, masks)
    return {name: (called[name], _first(session, mask, share[name])) for name, mask in masks.items()}


def _all(session: Any, masks: Mapping[str, int]) -> dict[str, Called]:
    rows = session.sql(f"select stream, b, mask from {_FLAGGED} where mask <> 0").collect() if masks else []
    found = {name: [(row.stream, row.b) for row in rows if row.mask & mask] for name, mask in masks.items()}
    return {name: (len(buckets), buckets) for name, buckets in found.items()}


def _first(session: Any, mask: int, most: int) -> list[tuple[int, int]]:
    rows = session.sql(
        f"select stream, b from {_FLAGGED} where mask & {mask}L <> 0 order by sub, stream, b limit {most}"
    ).collect()
    return [(row.stream, row.b) for row in rows]


def _chunked(session: Any, folded: folds.Folded, most: int) -> Called:
    frame = folded.of(session, "chunks", (STORED.name,))
    if frame is None:
        return 0, []
    frame.createOrReplaceTempView("chunks")
    found = session.sql(screen.chunked("chunks"))
    rows = [(row.stream, row.b) for row in found.orderBy("stream", "b").limit(most + 1).collect()]
    return len(rows) if len(rows) <= most else found.count(), rows[:most]


# --- sums -----------------------------------------------------------------------------------------------------------


def _sums(
    session: Any,
    ledger: Ledger,
    small: Small,
    folded: folds.Folded,
    series: tuple[Second, ...],
    exercised: Mapping[str, int],
) -> Sums:
    whose = keys(session, ledger, small, folded.bad)
    stored = in_log(session, ledger, small, folded.bad)
    counts = Counter(exercised) + Counter({KEEPS_KEYS: whose.kept, ORDER: stored.messages})
    return Sums(
        dict(counts),
        series,
        windows(session, ledger, small, folded.bad),
        {stream: seq for (_, stream), seq in _furthest(session, folded, ATTEMPT.name, "sb").items()},
        sum(ledger.rows(table.name) for table in EVENTS),
        end_us(ledger),
        last_given=_furthest(session, folded, DELIVERY.name, "db"),
        moved=whose.moved,
        overtaken=whose.overtaken,
        behind=stored.behind,
        spans=spans(ledger, folded.bad),
    )


def _series(session: Any, folded: folds.Folded) -> tuple[Second, ...]:
    frame = folded.of(session, "series", screen.IN_SERIES)
    if frame is None:
        return ()
    rows = frame.groupBy("what", "of", "second").sum("n").toArrow()
    return tuple(sorted(Second(Counted(what), of, second, n) for what, of, second, n in _tuples(rows)))


def _furthest(session: Any, folded: folds.Folded, table: str, word: str) -> dict[tuple[int, int], int]:
    if folded.of(session, "words", (table,)) is None:
        return {}
    found = session.sql(screen.furthest(word, f"{_WORDS}_{table}")).toArrow()
    return {(sub, stream): seq for sub, stream, seq in _tuples(found)}


def _tuples(content: Any) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in content.columns), strict=True)


def end_us(ledger: Ledger) -> int:
    """Return the time of the last row: the footers know it."""
    ends = (part.t_to for table in screen.IN_SERIES for part in ledger.parts[table])
    return max((end for end in ends if end is not None), default=0)


# --- what could not be read -----------------------------------------------------------------------------------------


def _doubted(verdicts: tuple[RequirementVerdict, ...], bad: tuple[BadPart, ...]) -> tuple[RequirementVerdict, ...]:
    """Without some of the rows nothing is proven: what seems lost may be in the unreadable rows."""
    if not bad:
        return verdicts
    named = "; ".join(str(part) for part in bad[:3]) + (f"; and {len(bad) - 3} more" if len(bad) > 3 else "")
    return tuple(
        msgspec.structs.replace(
            row, verdict=Verdict.INCONCLUSIVE, reason=f"{named}{f'; {row.reason}' if row.reason else ''}"
        )
        for row in verdicts
    )
