"""What counts as wrong on a machine that is late, what as left open, and who is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from bench import hardships
from bench.hardships import Hardship, descendants, suffer
from bench.late_mutants import LATE, caught_in, passed
from bench.repeated import Again, again
from bench.starved import GOALS, Compared, Kept, agent_knower, compared_with, is_listed, missed
from tests.exam import kill_matrix

from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.schema import FileKind
from assay_conformance.model.verdict import Verdict
from assay_reports.compare import CellDifference, compare
from assay_reports.expectation_matching import Cell, Entry, EntryState
from assay_reports.expectations import Expectation
from assay_reports.verdicts import Subject, Verdicts

LATENESS = RequirementId("nack.redelivery-requested-in-time")
LISTED = Expectation(requirement=LATENESS, case="one", code="late", versions=">=1", reason="r")


def verdicts(**cases: Verdict) -> Verdicts:
    """Of a run with these Cases, in each of which one requirement came to something."""
    return Verdicts(
        schema="1.0",
        file=FileKind.VERDICTS,
        run="r",
        suite="s",
        catalogue="c",
        subject=Subject(agent="a", client="c", version="1", tested=True),
        broker="b",
        exit_code=0,
        reasons=(),
        requirements=(),
        cells=tuple(
            Cell(requirement=LATENESS, case=case, verdict=verdict, exercised=1, attempts=(1,))
            for case, verdict in cases.items()
        ),
        expectations=(),
        left_out=(),
    )


def came_to(after: Verdict, status: int = 0) -> Compared:
    """A Case that passes on an idle machine, and another that does so on any."""
    idle, other = verdicts(one=Verdict.PASS, two=Verdict.PASS), verdicts(one=after, two=Verdict.PASS)
    return compared_with(idle, other, status, again(True, compare(idle, other)))


@pytest.mark.parametrize(
    ("before", "after", "less"),
    [
        ("fail (late, lost)", "fail (lost)", True),
        ("fail (lost)", "fail (late)", False),
        ("fail (lost)", "fail (late, lost)", False),
        ("fail (lost)", "fail", False),
        ("fail (lost)", "pass", False),
        ("warn (late, lost)", "fail (lost)", False),
    ],
)
def test_failure_for_some_of_its_reasons_says_less(before: str, after: str, less: bool) -> None:
    """What is left open on a late machine stands beside what was found."""
    assert is_listed(CellDifference(requirement=LATENESS, case="one", before=before, after=after), ()) is less


@pytest.mark.parametrize(("code", "listed"), [("late", True), ("lost", False)])
def test_failure_for_another_reason_is_right_where_that_is_listed(code: str, listed: bool) -> None:
    other = CellDifference(requirement=LATENESS, case="one", before="fail (twice)", after=f"fail ({code})")
    assert is_listed(other, [LISTED]) is listed


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.UNTESTABLE, Verdict.INVALID, Verdict.HARNESS_ERROR])
def test_another_verdict_than_without_a_hardship_is_wrong(verdict: Verdict) -> None:
    assert len(came_to(verdict).wrong) == 1


def test_what_was_left_open_is_counted_and_not_wrong() -> None:
    assert came_to(Verdict.INCONCLUSIVE) == Compared(0, 2, 1, ())


@pytest.mark.parametrize(("state", "wrong"), [(EntryState.UNDECIDED, 0), (EntryState.STALE, 1)])
def test_a_pass_is_left_open_where_the_run_leaves_the_listed_failure_open(state: EntryState, wrong: int) -> None:
    entry = Entry(state=state, expectation=LISTED)
    other = msgspec.structs.replace(verdicts(one=Verdict.PASS), expectations=(entry,))
    difference = CellDifference(requirement=LATENESS, case="one", before="fail (late)", after="pass")
    compared = Again(True, (difference,), (), (), ())
    assert len(compared_with(verdicts(one=Verdict.FAIL), other, 3, compared).wrong) == wrong


def test_a_run_without_verdicts_is_wrong() -> None:
    assert compared_with(verdicts(one=Verdict.PASS), None, -9, None).wrong == ("no verdicts: exit -9",)


@pytest.mark.parametrize(("status", "is_missed"), [(0, False), (3, False), (1, True), (4, True)])
def test_a_run_is_to_end_well_or_open(status: int, is_missed: bool) -> None:
    assert any(missed(Hardship.ALL_STOP, [came_to(Verdict.PASS, status)])) is is_missed


@pytest.mark.parametrize("hardship", GOALS)
def test_more_than_a_share_of_the_cases_may_not_be_left_open(hardship: Hardship) -> None:
    most = round(GOALS[hardship] * 100)
    assert not any(missed(hardship, [Compared(0, 100, most, ())]))
    assert any(missed(hardship, [Compared(0, 100, most + 1, ())]))


def test_agents_are_known_by_the_end_of_their_command_line() -> None:
    is_agent = agent_knower("pulsar-python")
    assert is_agent("/venv/bin/python -I /fixtures/agents/pulsar-python/agent.py")
    assert is_agent("/venv/bin/python -I /fixtures/agents/pulsar-python/nursery.py /assay_fixtures/agents/_births.py ")
    assert not is_agent("/venv/bin/python -c from multiprocessing.spawn import spawn_main")


def test_thirty_mutants_are_caught_on_an_idle_machine() -> None:
    known = kill_matrix.kept()
    assert len({*LATE}) == 30
    assert all(caught_in(known[one]) for one in LATE)


@pytest.mark.parametrize(
    ("verdict", "has_passed"), [(Verdict.PASS, True), (Verdict.FAIL, False), (Verdict.INCONCLUSIVE, False)]
)
def test_a_mutant_that_is_left_open_has_not_passed(verdict: Verdict, has_passed: bool) -> None:
    assert passed({"one": [LATENESS]}, verdicts(one=verdict)) is has_passed


def test_a_command_is_run_to_its_end_under_every_hardship() -> None:
    program = [sys.executable, "-c", "print('done')"]
    ended = [suffer(one, program, seed=1, is_agent=lambda _line: False, limit_s=60.0) for one in Hardship]
    assert {(one.status, one.printed) for one in ended} == {(0, "done\n")}


def test_a_control_group_is_limited_and_says_how_often_it_held_something_up(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").touch()
    (tmp_path / "cpu.stat").write_text("nr_periods 12\nnr_throttled 7\n", "utf-8")
    assert hardships.limit(tmp_path, {"cpu.max": "50000 100000"})
    assert (tmp_path / "cpu.max").read_text("utf-8") == "50000 100000"
    assert hardships.throttled(tmp_path) == 7


def test_a_folder_of_another_file_system_is_no_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardships, "CGROUP_V2", tmp_path)
    monkeypatch.setattr(hardships, "CGROUP_V1", tmp_path)
    suffered = suffer(Hardship.QUOTA, ["true"], seed=1, is_agent=lambda _line: False, limit_s=60.0)
    assert suffered.how == "stops for 50% of every 0.1 s"
    assert not [*tmp_path.iterdir()]


def test_a_command_that_takes_too_long_is_killed_with_what_it_started() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    ended = suffer(Hardship.IDLE, [sys.executable, "-c", program], seed=1, is_agent=lambda _line: False, limit_s=0.5)
    assert ended.status == -9


def test_children_of_children_are_found() -> None:
    program = (
        "import subprocess; child = subprocess.Popen(['sleep', '600']); print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            assert {parent.pid, child} <= {*descendants(os.getpid())}
        finally:
            os.kill(child, signal.SIGKILL)


def test_what_was_kept_is_read_again() -> None:
    kept = Kept(3, "2 busy loops", 0, 12.5)
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Kept) == kept
