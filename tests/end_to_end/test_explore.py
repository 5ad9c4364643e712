"""A whole exploration: an agent with a planted fault, over sockets, and the folder it leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.end_to_end.processes import descendants, eventually
from tests.end_to_end.running import command_line, mutant

from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut
from assay_fixtures.cli import _run
from assay_fixtures.exploration.storage import EXPLORED
from assay_fixtures.exploration.tally import Tally
from assay_fixtures.reference.probe import ReferenceTrial
from assay_fixtures.runner.explore import Probed
from assay_fixtures.runner.folder import StoredRun
from assay_reports.exploration import EXPLORATION, Once, read_exploration, render
from assay_reports.replay import read_replay

PLANTED = "fails-pending-on-loss"
BROKEN = "resend.pending-sends-resent"
SEED, RUN = 6, 2
"""Of this seed a connection ends over a send in the first of so many Cases. What takes long is to reduce a
cause, and one of them shows what all would."""


@dataclass(frozen=True)
class Explored:
    status: int
    told: dict[str, Any]
    folder: Path

    @property
    def cause(self) -> dict[str, Any]:
        """The finding of what the mutant is known for; it may break other rules, too."""
        return next(found for found in self.told["found"] if found["requirement"] == BROKEN)


def assay(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, **environment},
    )


_PATIENT = """
from assay_fixtures.exploration import investigation
investigation.REDUCED_S = 300.0
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """A client that gives up what it has sent when its connection ends, explored for a while. A cause is reduced to
    the end, which takes as long as the machine does: what an exploration shows in its time is another matter."""
    base = tmp_path_factory.mktemp("explored")
    agent, runs = mutant(base, PLANTED), base / "runs"
    (base / "sitecustomize.py").write_text(_PATIENT, "utf-8")
    told = assay(
        "explore", str(agent), "--area", "resend", "--cases", str(RUN), "--for", "5m", "--seed", str(SEED), "--json",
        "--jobs", "8", "--run-dir", str(runs), PYTHONPATH=str(base),
    )  # fmt: skip
    (folder,) = runs.iterdir()
    return Explored(told.returncode, json.loads(told.stdout), folder)


@pytest.mark.one_in(2, group="planted")
def test_a_planted_fault_is_found_and_fails_the_run(planted: Explored) -> None:
    assert (planted.status, planted.told["found"] != []) == (1, True)


@pytest.mark.one_in(2, group="planted")
def test_what_was_found_is_small_and_confirmed(planted: Explored) -> None:
    found = planted.cause
    assert found["confirmed"] >= 2
    assert found["minimal"]
    assert found["steps"] <= 6


@pytest.mark.one_in(2, group="planted")
def test_from_a_reduced_case_nothing_can_be_taken(planted: Explored) -> None:
    found = planted.cause
    breach = (found["requirement"], found["code"])
    case = read_replay((planted.folder / found["replay"]).read_bytes(), found["replay"]).case
    trial = ReferenceTrial(mutants=frozenset({PLANTED}))
    assert breach in trial.in_virtual_time(case).probed.breaches
    for smaller in _smaller(case):
        assert breach not in trial.in_virtual_time(smaller).probed.breaches


def _smaller(case: Case) -> Iterator[Case]:
    for index in range(len(case.steps)):
        yield msgspec.structs.replace(case, steps=case.steps[:index] + case.steps[index + 1 :])
    for index in range(len(case.faults)):
        yield msgspec.structs.replace(case, faults=case.faults[:index] + case.faults[index + 1 :])


@pytest.mark.one_in(2, group="planted")
def test_an_honest_client_passes_the_reduced_case(planted: Explored) -> None:
    for path in (planted.folder / "replay" / "generated").iterdir():
        case = read_replay(path.read_bytes(), str(path)).case
        assert ReferenceTrial().in_virtual_time(case).probed.breaches == frozenset()


@pytest.mark.one_in(2, group="planted")
def test_a_reduced_case_needs_a_fault(planted: Explored) -> None:
    case = read_replay((planted.folder / planted.cause["replay"]).read_bytes(), "").case
    assert any(isinstance(fault.action, Cut) for fault in case.faults) or {"unload", "restart"} & {
        step.verb for step in case.steps
    }


@pytest.mark.one_in(2, group="planted")
def test_the_figures_are_told(planted: Explored) -> None:
    assert planted.told["figures"]["cases"] == RUN
    assert {goal["name"] for goal in planted.told["goals"]} >= {"Cases a second", "share with a reconnect"}


@pytest.mark.one_in(2, group="planted")
def test_every_case_is_in_the_record(planted: Explored) -> None:
    assert len((planted.folder / EXPLORED).read_bytes().splitlines()) == 1 + RUN


@pytest.mark.one_in(2, group="planted")
def test_the_folder_is_judged_again_to_the_same_bytes(planted: Explored) -> None:
    verdicts = (planted.folder / "verdicts.json").read_bytes()
    assert assay("check", str(planted.folder)).returncode == planted.status
    assert (planted.folder / "verdicts.json").read_bytes() == verdicts


@pytest.mark.one_in(3)
def test_what_an_exploration_left_open_is_no_verdict_when_it_is_judged_again(tmp_path: Path) -> None:
    assert (
        assay("explore", "reference", "--area", "ordering", "--cases", "4", "--run-dir", str(tmp_path)).returncode == 0
    )
    (folder,) = tmp_path.iterdir()
    told = read_exploration((folder / EXPLORATION).read_bytes(), "")
    once = Once(
        requirement=BROKEN,
        code="lost",
        sentence="",
        confirmed=3,
        tries=3,
        replay="",
        beside_others=True,
        seen=9,
        open=True,
    )
    (folder / EXPLORATION).write_bytes(render(msgspec.structs.replace(told, once=(once,))))
    (folder / "verdicts.json").unlink()  # It does not follow from what is left open now.
    (folder / "certificate.json").unlink(missing_ok=True)
    again = assay("check", str(folder))
    assert (again.returncode, "beside other Cases, in none alone; in 9 Cases" in again.stdout) == (3, True)


# --- areas of which nothing can be drawn ------------------------------------------------------------------------------

_EMPTY = """
from hypothesis import strategies as st
from assay_conformance.machines import areas
lives = areas.lives
areas.lives = lambda area, able=None: st.nothing() if area == "dedup" else lives(area, able)
"""


def without_dedup(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """An exploration whose processes that draw have a strategy of nothing for that area."""
    (folder / "sitecustomize.py").write_text(_EMPTY, "utf-8")
    runs = str(folder / "runs")
    return assay("explore", "reference", "--seed", "4", "--run-dir", runs, *arguments, PYTHONPATH=str(folder))


@pytest.mark.one_in(2)
def test_an_area_of_which_nothing_can_be_drawn_is_one_sentence(tmp_path: Path) -> None:
    told = without_dedup(tmp_path, "--area", "dedup")
    (said,) = (line for line in told.stderr.splitlines() if line.startswith("assay:"))
    assert (told.returncode, "the strategies of dedup gave no Case in 3 rounds; expected" in said) == (2, True)


@pytest.mark.one_in(2)
def test_other_areas_go_on_without_one_of_which_nothing_can_be_drawn(tmp_path: Path) -> None:
    told = without_dedup(tmp_path, "--area", "dedup", "--area", "ordering", "--cases", "3", "--jobs", "4")
    assert "assay:" not in told.stderr
    assert "empty   dedup: no Case could be drawn of it" in told.stdout
    assert "ran     3 Cases" in told.stdout


# --- interrupted ------------------------------------------------------------------------------------------------------


@contextmanager
def exploring(runs: Path, agent: str = "reference", *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command_line("explore", agent, "--for", "5m", "--jobs", "4", "--run-dir", str(runs), *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_exploration_keeps_what_is_known(number: signal.Signals, tmp_path: Path) -> None:
    with exploring(tmp_path) as process:
        eventually(lambda: any(tmp_path.glob("*/history/generated/*")), "a Case that is kept", 120)
        children = descendants(process.pid)
        process.send_signal(number)
        told, _ = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in told) == (130, True)
    (folder,) = tmp_path.iterdir()
    stored = StoredRun(folder)
    assert stored.info.interrupted
    assert stored.plan
    assert read_exploration((folder / "exploration.json").read_bytes(), "").interrupted
    eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "the end of its processes", 10)


@pytest.mark.one_in(3)
def test_an_interrupted_exploration_keeps_what_it_found(tmp_path: Path) -> None:
    agent, runs = mutant(tmp_path, PLANTED), tmp_path / "runs"
    with exploring(runs, str(agent), "--area", "resend", "--seed", str(SEED)) as process:
        eventually(lambda: any(runs.glob("*/history/generated/*.*-*")), "a Case that is reduced", 180)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    (folder,) = runs.iterdir()
    found = read_exploration((folder / "exploration.json").read_bytes(), "").found
    assert found
    assert all(read_replay((folder / one.replay).read_bytes(), one.replay).case.steps for one in found)


@pytest.mark.one_in(2)
def test_a_killed_exploration_leaves_a_plan_of_what_was_kept(tmp_path: Path) -> None:
    with exploring(tmp_path) as process:
        eventually(lambda: any(tmp_path.glob("*/history/generated/*")), "a Case that is kept", 120)
        eventually(lambda: any(b"generated/" in plan.read_bytes() for plan in tmp_path.glob("*/plan.jsonl")), "it", 5)
        process.kill()
        process.communicate(timeout=30)
    (folder,) = tmp_path.iterdir()
    told = assay("check", str(folder))
    assert (told.returncode, "no Case was selected" in told.stdout) == (130, False)
    assert StoredRun(folder).plan


@pytest.mark.one_in(2)
def test_a_killed_exploration_leaves_nobody(tmp_path: Path) -> None:
    with exploring(tmp_path) as process:
        eventually(lambda: any(tmp_path.glob("*/history/generated/*")), "a Case that is kept", 120)
        children = descendants(process.pid)
        process.kill()
        process.communicate(timeout=30)
    eventually(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "the end of its processes", 10)
    (folder,) = tmp_path.iterdir()
    assert assay("check", str(folder)).returncode == 130


# --- trouble of its own -----------------------------------------------------------------------------------------------


def _backroom_of(pid: int) -> list[int]:
    """The processes of an exploration that draw and judge."""
    return [child for child in descendants(pid) if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.one_in(2)
def test_an_exploration_that_cannot_judge_any_more_tells_what_is_known(tmp_path: Path) -> None:
    with exploring(tmp_path) as process:
        eventually(lambda: any(tmp_path.glob("*/history/generated/*")), "a Case that is kept", 120)
        os.kill(_backroom_of(process.pid)[0], signal.SIGKILL)
        told, said = process.communicate(timeout=120)
    assert process.returncode == 4
    assert said.splitlines()[-1].startswith("assay: a process that draws and judges Cases has ended")
    assert "broken off: what was known by then is kept; a process that draws and judges" in told
    (folder,) = tmp_path.iterdir()
    assert read_exploration((folder / "exploration.json").read_bytes(), "").figures.cases
    assert (folder / "report.html").is_file()
    checked = assay("check", str(folder))
    assert (checked.returncode, "the run broke off" in checked.stdout) == (130, True)


def test_a_bug_in_the_middle_of_an_exploration_leaves_its_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add, counted = Tally.add, list[object]()

    def stumbles(tally: Tally, probed: Probed, **said: bool) -> None:
        add(tally, probed, **said)
        counted.append(probed)
        if len(counted) == 3:
            raise RuntimeError("a bug")

    monkeypatch.setattr(Tally, "add", stumbles)
    assert _run(["explore", "reference", "--area", "ordering", "--jobs", "4", "--run-dir", str(tmp_path)]) == 4
    told = capsys.readouterr()
    assert "an error of assay itself, not of the client: RuntimeError: a bug. Traceback:" in told.err
    assert "ran     3 Cases" in told.out
    assert "broken off: what was known by then is kept; RuntimeError: a bug" in told.out
