"""The fuzzer of hostile input: its oracle sees what it is there for, and its attacks can be had again."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.hostile import oracle, values
from fuzz.hostile.attack import Breach, Order, Rule, Tried
from fuzz.hostile.corpus import AGENTS, CASE, GOLDEN, MAPPING, Corpus
from fuzz.hostile.doors import DOORS
from fuzz.hostile.kinds import KINDS, found
from fuzz.hostile.target import Target, new_sandbox

FAKE = Path(__file__).with_name("fake_suite")
WITHOUT_PYARROW = [door for door in DOORS if door not in ("ledger", "mapping")]
"""Doors whose attacks can be drawn with the base install alone."""

BROKEN: dict[str, set[Rule]] = {
    "behave": set(),
    "hang": {Rule.ENDS},
    "grow": {Rule.MEMORY},
    "leave": {Rule.LEFT},
    "crash": {Rule.CODE, Rule.TRACEBACK},
    "write-outside": {Rule.OUTSIDE},
    "end-with-4": {Rule.CODE},
    "say-nothing": {Rule.SENTENCE},
    "talk-at-length": {Rule.SENTENCE},
    "speak-like-another": {Rule.SENTENCE},
    "escape": {Rule.ESCAPES},
}


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(sys.executable, tmp_path_factory.mktemp("cache"), {"PYTHONPATH": str(FAKE)})
    yield target
    target.close()


@pytest.mark.parametrize("behaviour", BROKEN)
def test_each_rule_is_broken_by_its_misbehaviour_alone(fake: Target, behaviour: str, tmp_path: Path) -> None:
    sandbox = new_sandbox(tmp_path / "sandbox")
    order = Order((behaviour,), time_s=2.0 if behaviour == "hang" else 60.0)
    assert {breach.rule for breach in oracle.breaches(order, fake.run(order, sandbox))} == BROKEN[behaviour]


def test_every_rule_of_commands_has_a_misbehaviour_that_breaks_it() -> None:
    assert set.union(*BROKEN.values()) == set(oracle.RULES)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    replays = tuple(sorted((AGENTS / "pulsar-python" / "replays").glob("*.json")))
    toml = AGENTS / "reference" / "agent.toml"
    return Corpus(GOLDEN, replays, toml, MAPPING, Path("nowhere"), ("pulsar://127.0.0.1:1", "http://127.0.0.1:1"))


@pytest.mark.parametrize("door", WITHOUT_PYARROW)
def test_an_attack_follows_from_its_number_alone(door: str, corpus: Corpus, tmp_path: Path) -> None:
    laid: list[tuple[str, dict[str, bytes]]] = []
    for turn in ("first", "second"):
        what, lay = DOORS[door](random.Random(f"7/{door}/11"), corpus)
        sandbox = new_sandbox(tmp_path / turn)
        order = lay(sandbox)
        if order.peer is not None:
            order.peer.close()
        files = {str(path.relative_to(sandbox.work)): path.read_bytes() for path in _regular(sandbox.work)}
        laid.append((what, files))
    assert laid[0] == laid[1]


def _regular(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


@pytest.mark.parametrize("door", WITHOUT_PYARROW)
def test_a_door_has_attacks_of_many_kinds(door: str, corpus: Corpus) -> None:
    assert len({DOORS[door](random.Random(number), corpus)[0] for number in range(200)}) >= 8


def test_a_value_is_put_where_its_document_had_one() -> None:
    path = ("steps", 0, "size")
    assert values.filled({"steps": [{"size": 3}]}, path, b"1e999") == b'{"steps":[{"size":1e999}]}'


def test_a_kind_is_found_by_its_door_rule_and_words() -> None:
    flipped = Tried("ledger", 3, "bytes flipped in outcome.t", (Breach(Rule.CODE, "exit code 0, expected one of [3]"),))
    assert found([flipped]) == {"damaged ledgers pass"}
    assert found([Tried("ledger", 3, "bytes flipped in outcome.t", ())]) == set()


def test_the_kinds_name_doors_that_exist() -> None:
    assert set().union(*(shows.doors for shows in KINDS.values())) <= {*DOORS, "http", "frames"}


def test_the_case_of_the_attacks_is_in_the_golden_run() -> None:
    assert (GOLDEN / "history" / CASE).is_dir()
