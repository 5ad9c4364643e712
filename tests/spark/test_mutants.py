"""The SQL of the screen, with clauses left out: each is needed, alone and beside any other.

Another engine runs Spark's own text, so that hundreds of screens cost seconds. Every message has a stream of its own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.conformance.ledger.wanted import IMPLIED, WANTED

from assay_conformance.ledger.clauses import CHUNKED, CLAUSES, TALLIES, Restart, Scope
from assay_conformance.ledger.words import NEVER, WORDS, Merge, Words
from assay_reports.spark import screen, views

Case = tuple[Words, Scope]
STACK = "words"
SUB = 0
CASES: Mapping[str, Case] = {name: (Words(**words), Scope(**scope)) for name, (words, scope) in WANTED.items()}
PLACES = {name: place for place, name in enumerate(CLAUSES)}


class Duck:
    """What makes views of small tables takes it for a session of Spark."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("create macro shiftleft(word, places) as cast(word as hugeint) << places")

    def createDataFrame(self, content: Any) -> Any:  # noqa: N802
        return _Frame(self.connection, content)

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Spark's text, in the words of this engine."""
        text = re.sub(r"\b(\d+)[LS]\b", r"\1", text)
        text = re.sub(r"exists\((\w+), one -> ([^()]+)\)", r"(len(list_filter(\1, lambda one: \2)) > 0)", text)
        result = self.connection.execute(text)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


class _Frame:
    def __init__(self, connection: Any, content: Any) -> None:
        self._connection, self._content = connection, content

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802
        self._connection.register(name, self._content)


@pytest.fixture
def duck() -> Iterator[Duck]:
    duck = Duck()
    yield duck
    duck.connection.close()


def show(session: Any, cases: Collection[Case]) -> None:
    """Stream n holds the words of case n, as a subscription's own: what is a stream's is read beside them."""
    words = {"sub": pa.int16(), "stream": pa.int32(), "b": pa.int64(), **dict.fromkeys(Words._fields, pa.int64())}
    views.show(session, STACK, words, [(SUB, at, 0, *of) for at, (of, _) in enumerate(cases)])
    reach = {"sub": pa.int16(), "stream": pa.int32(), "reached": pa.int16()}
    views.show(session, screen.REACH, reach, [(SUB, at, SUB) for at in range(len(cases))])
    restarts = pa.list_(pa.struct([(name, pa.int64()) for name in Restart._fields]))
    fields = {name: restarts if name == "restarts" else pa.int64() for name in Scope._fields}
    kinds = {"of_sub": pa.int16(), "of_stream": pa.int32(), "once": pa.int32(), **fields}
    plain = [{**of._asdict(), "restarts": [one._asdict() for one in of.restarts]} for _, of in cases]
    rows = [(SUB, at, 1, *of.values(), of) for at, of in enumerate(plain)]
    views.show(session, screen.SCOPES, {**kinds, "by_stream": pa.struct(list(fields.items()))}, rows)


def without(*names: str) -> str:
    kept = (clause for clause in CLAUSES.values() if clause.name not in names)
    return screen.screen(f"select * from {STACK}", kept)


def test_sql_flags_and_counts_what_python_does(duck: Duck) -> None:
    chance = random.Random(7)
    cases = [drawn(chance) for _ in range(3_000)]
    show(duck, cases)
    rows = duck.sql(without())
    masks = [
        sum(1 << place for place, clause in enumerate(CLAUSES.values()) if clause.holds(words, scope))
        for words, scope in cases
    ]
    assert {row["stream"]: row["mask"] for row in rows if row["mask"]} == {
        stream: mask for stream, mask in enumerate(masks) if mask
    }
    for column, tally in screen.tally_columns().items():
        assert sum(row[column] for row in rows) == sum(tally.count(*case) for case in cases), tally.requirement
    assert all(any(mask >> place & 1 for mask in masks) for place in PLACES.values())
    assert len(TALLIES) == len(screen.tally_columns())


def drawn(chance: random.Random) -> Case:
    """Few bits of each word, the highest among them, and few values of the rest: so every clause holds now and then."""
    bit = (0, 0, 1, -(1 << 63), 1 | -(1 << 63))
    of = {Merge.OR: bit, Merge.XOR: (0, 5, 6), Merge.SUM: (0, 0, 1, 2), Merge.MAX: (0, 4, 50)}
    words = {word.name: chance.choice(of.get(word.merge, (NEVER, 5, 50_000, 150_000, -9_000))) for word in WORDS}
    flags: dict[str, Any] = {name: chance.randint(0, 1) for name in Scope._fields if name not in _NUMBERS}
    numbers = {name: chance.choice(values) for name, values in _NUMBERS.items()}
    return Words(**words), Scope(**flags, **numbers)


_NUMBERS: Mapping[str, tuple[Any, ...]] = {
    "nack_delay": (-1, 0, 200_000),
    "max_redeliv": (-1, 3),
    "due_early_us": (0, 1_000),
    "restarts": ((), (Restart(10, 20),), (Restart(1, 2), Restart(60_000, 40))),
}


def test_a_screen_without_a_clause_misses_what_only_that_flags(duck: Duck) -> None:
    show(duck, CASES.values())
    whole = {row["stream"]: row["mask"] for row in duck.sql(without()) if row["mask"]}
    assert whole == {at: 1 << PLACES[name] for at, name in enumerate(CASES)}
    for at, name in enumerate(CASES):
        assert missed(duck.sql(without(name))) == {at}


def test_a_screen_without_two_clauses_misses_what_either_flags(duck: Duck) -> None:
    show(duck, CASES.values())
    for (one, first), (other, second) in combinations(enumerate(CASES), 2):
        assert missed(duck.sql(without(first, second))) == {one, other}


@pytest.mark.parametrize("implied", IMPLIED)
def test_a_clause_that_another_implies_is_missed_beside_that_one(duck: Duck, implied: str) -> None:
    """Without it alone nothing is missed: it only says for which requirement to look."""
    case = Words(least_nack_us=10), Scope(shared=1, nack_delay=200_000)
    show(duck, [case])
    seen = {names: missed(duck.sql(without(*names)), 1) for names in ((implied,), (implied, IMPLIED[implied]))}
    assert list(seen.values()) == [set(), {0}]


def missed(rows: Collection[Mapping[str, Any]], cases: int = len(CASES)) -> set[int]:
    return set(range(cases)) - {row["stream"] for row in rows if row["mask"]}


def test_chunks_that_are_not_all_there_are_flagged(duck: Duck) -> None:
    rows = {0: (0b111, 3), 1: (0b101, 3), 2: (0b1, 64), 3: ((1 << 63) - 1, 63)}
    kinds = {"stream": pa.int32(), "seq": pa.int64(), "cb": pa.int64(), "cm": pa.int64()}
    views.show(duck, CHUNKED.name, kinds, [(stream, 0, *words) for stream, words in rows.items()])
    assert {row["stream"] for row in duck.sql(screen.chunked(CHUNKED.name))} == {1, 2}


@pytest.fixture
def hasty(spark: Any) -> Iterator[Any]:
    """Spark without compiled queries: of two dozen, each for two dozen rows, compiling would be all that it does."""
    slow = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in slow}
    for name, value in slow.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.long
def test_spark_misses_what_only_the_clause_flags_that_it_lacks(hasty: Any) -> None:
    show(hasty, CASES.values())
    for at, name in enumerate(CASES):
        assert missed(hasty.sql(without(name)).where("mask <> 0").collect()) == {at}
