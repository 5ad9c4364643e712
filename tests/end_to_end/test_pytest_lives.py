"""`--assay-lives PROFILE`: what is drawn of a client's lives, as a user of pytest meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.processes import alive, descendants, eventually
from tests.end_to_end.running import agent_toml, mutant

from assay_conformance.client import Mutation
from assay_conformance.machines.areas import Area
from assay_conformance.model.schema import FileKind
from assay_fixtures.pytesting.lives import Explored, Profile, ends_of, seed_of
from assay_fixtures.pytesting.outcomes import Kind
from assay_reports.exploration import Exploration, Figures, Found, Once
from assay_reports.replay import read_replay

pytest_plugins = ["pytester"]

LIVES = ("--pyargs", "assay_conformance.suite.test_lives", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
BROKEN = "resend.same-unit"


@pytest.fixture(autouse=True)
def _in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # What this pytest was told is not for the one inside.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ASSAY_NIGHT", raising=False)


def live(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*LIVES, *arguments, timeout=180)


def collected(told: pytest.RunResult) -> list[str]:
    return [line.partition("[")[2][:-1] for line in told.outlines if "::test_lives" in line]


# --- which items, and of which seed -----------------------------------------------------------------------------------


def test_there_is_an_item_for_each_area(pytester: pytest.Pytester) -> None:
    told = live(pytester, "--assay-agent", "reference", "--assay-lives", "ci", "--collect-only", "-q")
    assert collected(told) == list(Area)


def test_lives_that_nobody_asked_for_are_a_usage_error(pytester: pytest.Pytester) -> None:
    told = live(pytester, "--assay-agent", "reference")
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines(["ERROR: test_lives.py needs --assay-lives, e.g. --assay-lives ci"])


def test_a_night_tells_its_seed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_NIGHT", "4711")
    told = live(pytester, "--assay-agent", "reference", "--assay-lives", "nightly", "--collect-only", "-q")
    told.stdout.fnmatch_lines(["assay: lives of ASSAY_NIGHT=4711"])


def test_a_night_without_a_number_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_NIGHT", "tonight")
    with pytest.raises(pytest.UsageError, match="ASSAY_NIGHT is 'tonight', expected a number from 0 to 4294967296"):
        seed_of(Profile.NIGHTLY)


def test_unknown_profile_is_a_usage_error(pytester: pytest.Pytester) -> None:
    told = live(pytester, "--assay-agent", "reference", "--assay-lives", "weekly")
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines(["*--assay-lives: invalid choice: 'weekly'*"])


# --- whole explorations -----------------------------------------------------------------------------------------------


def test_honest_client_lives_through_an_area(pytester: pytest.Pytester) -> None:
    words = ("--assay-agent", "reference", "--assay-lives", "ci", "-m", "assay(area='ordering')", "--strict-markers")
    live(pytester, *words).assert_outcomes(passed=1, deselected=len(Area) - 1)


def test_broken_client_fails_and_its_replay_file_is_named(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", Mutation.RESTAMPS_RESEND)
    told = live(pytester, "--assay-agent", agent, "--assay-lives", "ci", "-k", "test_lives and resend")
    told.assert_outcomes(failed=1, deselected=len(Area) - 1)
    told.stdout.fnmatch_lines([f"{BROKEN}: *", f"  assay replay runs/*/replay/generated/{BROKEN}-*.json"])
    (named,) = {line.split()[-1] for line in told.outlines if f"replay/generated/{BROKEN}" in line}
    assert read_replay((pytester.path / named).read_bytes(), named).breaches[0].requirement == BROKEN


def test_area_of_which_there_is_nothing_to_ask_is_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    path = agent_toml(pytester.path / "agent", "{python}", "-m", "assay_fixtures.reference")
    before, _, rest = path.read_text().partition("capabilities = [")
    path.write_text(f'{before}capabilities = ["producer"]{rest.partition("]")[2]}')
    told = live(pytester, "--assay-agent", path, "--assay-lives", "ci", "-k", "test_lives and nack", "-rs")
    told.assert_outcomes(skipped=1, deselected=len(Area) - 1)
    told.stdout.fnmatch_lines(["SKIPPED*nothing is drawn of nack: reference does not declare *"])


def test_session_that_is_killed_takes_its_exploration_with_it(tmp_path: Path) -> None:
    words = ("--assay-agent", "reference", "--assay-lives", "nightly", "-k", "test_lives and mixed")
    command = [sys.executable, "-m", "pytest", *LIVES, *words]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    started: set[int] = set()

    def running() -> bool:
        started.update(descendants(process.pid))
        return any(tmp_path.glob("runs/*/history/generated/*"))

    try:
        eventually(running, "a Case that is kept", 60)
        process.kill()
        process.wait(30)
        eventually(lambda: not any(map(alive, started)), "the end of the exploration and its agents", 20)
    finally:
        process.kill()
    assert any(tmp_path.glob("runs/*/exploration.json"))


# --- what an item makes of it -----------------------------------------------------------------------------------------

FIGURES = Figures(
    cases=40, wall_s=2.0, more_runs=0, drawn=60, median_steps=6, touched=0.5, reconnected=0.5, slow=0.0, clauses=90,
    clauses_there=180, pairs=50, inconclusive=0, harness_errors=0, agents=4,
)  # fmt: skip
FOUND = Found(
    requirement=BROKEN, code="restamped", verdict="fail", sentence="message 2 was sent again as another", also=(),
    known_by=(), shape=(), case="generated/x", replay="replay/generated/x.json", steps=3, faults=1, confirmed=3,
    tries=3, minimal=True, took_s=1.0, seen=2,
)  # fmt: skip
OPEN = Once(
    requirement=BROKEN, code="restamped", sentence="", confirmed=3, tries=3, replay="", beside_others=True, open=True
)
TOLD = Exploration(
    schema="1.0", file=FileKind.EXPLORATION, run="r", agent="a", version="1", areas=("resend",), seed=17,
    interrupted=False, figures=FIGURES, goals=(), found=(), listed=(), once=(), unexercised=(),
)  # fmt: skip


def kinds(exit_code: int, *, strict: bool = False, reasons: tuple[str, ...] = (), **told: object) -> list[Kind]:
    explored = Explored(exit_code, msgspec.structs.replace(TOLD, **told), Path("runs/r"), reasons)
    return [end.kind for end in ends_of(explored, Area.RESEND, strict=strict)]


def test_what_came_and_went_with_what_is_listed_does_not_fail() -> None:
    assert kinds(0, found=(msgspec.structs.replace(FOUND, known_by=("resend.x: y",)),)) == [Kind.PASS]


def test_what_is_open_is_no_verdict() -> None:
    assert kinds(3, once=(OPEN,), reasons=("resend.same-unit: restamped, ...",)) == [Kind.ERROR]


def test_a_finding_beside_what_is_open_fails() -> None:
    assert kinds(1, found=(FOUND,), once=(OPEN,)) == [Kind.FAIL]


@pytest.mark.parametrize(("strict", "exit_code", "kind"), [(False, 0, Kind.WARNING), (True, 1, Kind.FAIL)])
def test_a_broken_should_is_a_warning_unless_strict(strict: bool, exit_code: int, kind: Kind) -> None:
    found = msgspec.structs.replace(FOUND, verdict="warn")
    assert kinds(exit_code, strict=strict, found=(found,)) == [kind]


def test_entry_that_fails_the_run_by_itself_fails() -> None:
    explored = Explored(1, TOLD, Path("runs/r"), ("resend.x in a/b: y is listed until 2026-01-01",))
    (end,) = ends_of(explored, Area.RESEND)
    assert (end.kind, end.text) == (Kind.FAIL, "lives of resend: resend.x in a/b: y is listed until 2026-01-01")


def test_area_of_which_nothing_could_be_drawn_is_skipped() -> None:
    assert kinds(2, gave_nothing=("resend",), broke_off="the strategies of resend gave no Case") == [Kind.SKIP]


def test_exploration_that_told_nothing_is_an_error_with_its_last_words() -> None:
    (end,) = ends_of(Explored(2, None, Path("runs"), said="assay: nothing was explored"), Area.ACK)
    assert (end.kind, end.text) == (Kind.ERROR, "lives of ack: assay: nothing was explored")
