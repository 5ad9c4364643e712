"""A checkout judges packed runs in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from bench.compare_judging.__main__ import main
from bench.compare_judging.comparing import Kind, Renames, compared
from bench.compare_judging.corpus import cases_of, pack, parts, unpack
from bench.compare_judging.one_side import judged_part
from bench.compare_judging.results import Judged
from bench.compare_judging.sides import Side

from assay_fixtures.packs import load_packs
from assay_fixtures.runner.folder import StoredRun

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "runs" / "1.1"
HISTORIES = 4
PART = "stored/golden"
REQUIREMENT = "robustness.calls-do-not-hang"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    assert pack(GOLDEN, folder / f"{PART}.zip") == HISTORIES
    return folder


@pytest.fixture(scope="module")
def side(corpus: Path) -> Side:
    side = Side(Path(sys.executable), corpus / "judged")
    side.judge(parts(corpus))
    return side


def _here(corpus: Path, without: str = "") -> Iterator[Judged]:
    """As this process judges, with one check less."""
    pack = load_packs()
    checks = {id: check for id, check in pack.checks.items() if id != without}
    for one in judged_part(corpus / f"{PART}.zip", None, replace(pack, checks=checks)):
        yield msgspec.convert({"type": "judged", "part": PART, **one}, Judged)


def test_caps_on_examples_are_lifted(side: Side) -> None:
    judged = [one.said[REQUIREMENT] for one in side.said(PART)]
    assert len(judged) == HISTORIES
    assert all(len(said.subjects) == said.exercised > 5 for said in judged)


def test_a_run_judged_twice_gives_no_difference(side: Side, corpus: Path, tmp_path: Path) -> None:
    again = Side(Path(sys.executable), tmp_path)
    again.judge(parts(corpus))
    assert len(again.said(PART)) == HISTORIES
    assert list(compared(side.said(PART), again.said(PART), Renames())) == []


def test_what_is_kept_of_a_part_is_not_judged_again(side: Side, corpus: Path) -> None:
    another = Side(Path(sys.executable), side.kept)
    another.judge(parts(corpus))
    assert (another.said(PART), another.peak_mb) == (side.said(PART), 0)


def test_only_what_is_chosen_is_judged(corpus: Path, tmp_path: Path) -> None:
    side = Side(Path(sys.executable), tmp_path)
    side.judge(parts(corpus), {PART: ["nack/one-of-three/1"]})
    assert [one.history for one in side.said(PART)] == ["nack/one-of-three/1"]


def test_a_removed_check_is_reported_in_every_history_it_judged(corpus: Path) -> None:
    after = _here(corpus, without=REQUIREMENT)
    found = [one for one in compared(_here(corpus), after, Renames()) if one.requirement == REQUIREMENT]
    assert {one.kind for one in found} == {Kind.FEWER}
    assert len(found) == HISTORIES


def test_the_command_ends_with_0_where_nothing_differs(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--before", sys.executable, "--corpus", str(corpus), "--chapter", "robustness", "--sample", "1"]
    monkeypatch.setattr(sys, "argv", ["compare_judging", *arguments])
    assert main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no difference"


def test_the_command_ends_with_3_where_nothing_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["compare_judging", "--before", sys.executable, "--corpus", str(tmp_path)])
    assert main() == 3


def test_one_history_of_a_part_can_be_judged_as_a_run(corpus: Path, tmp_path: Path) -> None:
    unpack(corpus / f"{PART}.zip", "nack/one-of-three/1", tmp_path)
    stored = StoredRun(tmp_path)
    assert (list(stored.plan), stored.attempts("nack/one-of-three")) == (["nack/one-of-three"], [1])
    # The part has the ids that its requirements had when it was made.
    packed = cases_of(corpus / f"{PART}.zip")
    assert {name: case.steps for name, case in stored.plan.items()} == {
        "nack/one-of-three": packed["nack/one-of-three"].steps
    }
