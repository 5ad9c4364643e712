"""A stored run as a ledger: its attempts lie one behind the other, and none of their numbers meet."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from assay_conformance.ledger.info import Acks, Part
from assay_conformance.ledger.tables import DELIVERY, PARTS
from assay_conformance.model.run import read_run
from assay_fixtures.cli import _run
from assay_reports.ledgers.histories import APART_US
from assay_reports.ledgers.opening import Ledger, open_ledger

GOLDEN = Path(__file__).parents[3] / "fixtures" / "golden" / "runs" / "1.1"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    out = tmp_path_factory.mktemp("run") / "ledger"
    assert _run(["ledger", str(GOLDEN), "--out", str(out)]) == 0
    return open_ledger(str(out))


def test_every_number_is_a_row_of_its_small_table(ledger: Ledger) -> None:
    topics = {one.topic for one in ledger.small["topic"]}
    streams = {one.stream: one.topic for one in ledger.small["stream"]}
    subs = {one.sub: set(map(int, one.topics.split())) for one in ledger.small["subscription"]}
    for table in PARTS:
        assert {row.stream for row in ledger.read(table)} <= set(streams)
    assert all(streams[row.stream] in subs[row.sub] for row in ledger.read(DELIVERY))
    assert set(streams.values()) <= topics


def test_attempts_do_not_touch_in_time(ledger: Ledger) -> None:
    times = sorted(row.t for row in ledger.read(DELIVERY))
    gaps = [later - earlier for earlier, later in itertools.pairwise(times) if later - earlier > APART_US // 2]
    assert gaps
    assert min(gaps) >= APART_US


def ledger_of(run: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code, and what is said."""
    return _run(["ledger", str(run)]), capsys.readouterr().err


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "run"))


def histories(run: Path) -> list[Path]:
    return sorted((run / "history").rglob("*.jsonl"))


@pytest.mark.parametrize("kept", [700, -20, 0], ids=["most of it", "its end", "all of it"])
def test_an_attempt_whose_history_breaks_off_is_left_out_and_said(
    run: Path, kept: int, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = histories(run)[0]
    broken.write_bytes(broken.read_bytes()[:kept])
    code, said = ledger_of(run, capsys)
    case = broken.parent.relative_to(run / "history")
    assert (code, said) == (0, f"assay: {case}, attempt 1: its history breaks off, so its rows are left out\n")


def test_cases_without_a_history_are_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = histories(run)[0]
    gone.unlink()
    code, said = ledger_of(run, capsys)
    case = gone.parent.relative_to(run / "history")
    assert (code, said) == (0, f"assay: 1 Cases of the plan have no history, the first of them {case}\n")


def test_a_history_that_is_none_leaves_no_half_of_a_ledger(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    histories(run)[-1].write_bytes(b"noise\n")
    code, said = ledger_of(run, capsys)
    assert (code, "expected a header record with its schema" in said) == (2, True)
    assert not (run / "ledger").exists()


def test_how_the_application_acknowledged_stands_in_the_contract(ledger: Ledger) -> None:
    assert ledger.info.acking.mode is not Acks.UNKNOWN


def test_what_had_a_part_in_the_run_stands_in_the_contract(ledger: Ledger) -> None:
    run = read_run((GOLDEN / "run.json").read_bytes(), "run.json")
    told = ledger.info.versions
    assert told[Part.AGENT] == run.facts.agent
    assert (told[Part.RECORDER], told[Part.CATALOGUE]) == (run.suite, run.catalogue)
    assert "" not in told.values()


def test_a_run_is_not_written_twice(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["ledger", "run", str(GOLDEN), "--out", ledger.where]) == 2
    assert "is there already" in capsys.readouterr().err
