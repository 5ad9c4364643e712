"""`--assay-lives PROFILE`: what is drawn of a client's lives, as a user of pytest meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, born, command_of, descendants, eventually
from tests.end_to_end.running import agent_toml, mutant

from assay_conformance.machines.areas import Area
from assay_reports.replay import read_replay

pytest_plugins = ["pytester"]

LIVES = ("--pyargs", "assay_conformance.suite.test_lives", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
BROKEN = "resend.identical-bytes"


@pytest.fixture(autouse=True)
def _in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # What this pytest was told is not for the one inside.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ASSAY_NIGHT", raising=False)


def live(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*LIVES, *arguments, timeout=180)


# --- which items, and of which seed -----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
def test_lives_that_nobody_asked_for_are_a_usage_error(pytester: pytest.Pytester) -> None:
    told = live(pytester, "--assay-agent", "reference")
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines(["ERROR: test_lives.py needs --assay-lives, e.g. --assay-lives ci"])


@pytest.mark.one_in(3)
def test_a_night_tells_its_seed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_NIGHT", "4711")
    told = live(pytester, "--assay-agent", "reference", "--assay-lives", "nightly", "--collect-only", "-q")
    told.stdout.fnmatch_lines(["assay: lives of ASSAY_NIGHT=4711"])


@pytest.mark.one_in(3)
def test_unknown_profile_is_a_usage_error(pytester: pytest.Pytester) -> None:
    told = live(pytester, "--assay-agent", "reference", "--assay-lives", "weekly")
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines(["*--assay-lives: invalid choice: 'weekly'*"])


# --- whole explorations -----------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
def test_honest_client_lives_through_an_area(pytester: pytest.Pytester) -> None:
    words = ("--assay-agent", "reference", "--assay-lives", "ci", "-m", "assay(area='ordering')", "--strict-markers")
    # There is an item for each area: all others are left out by the mark.
    live(pytester, *words).assert_outcomes(passed=1, deselected=len(Area) - 1)


@pytest.mark.one_in(3)
def test_broken_client_fails_and_its_replay_file_is_named(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", "resend-changes-metadata")
    told = live(pytester, "--assay-agent", agent, "--assay-lives", "ci", "-k", "test_lives and resend")
    told.assert_outcomes(failed=1, deselected=len(Area) - 1)
    told.stdout.fnmatch_lines([f"{BROKEN}: *", f"  assay replay runs/*/replay/generated/{BROKEN}-*.json"])
    (named,) = {line.split()[-1] for line in told.outlines if f"replay/generated/{BROKEN}" in line}
    assert read_replay((pytester.path / named).read_bytes(), named).breaches[0].requirement == BROKEN


@pytest.mark.one_in(3)
def test_area_of_which_there_is_nothing_to_ask_is_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    path = agent_toml(pytester.path / "agent", "{python}", "-m", "assay_fixtures.reference")
    before, _, rest = path.read_text().partition("capabilities = [")
    path.write_text(f'{before}capabilities = ["producer"]{rest.partition("]")[2]}')
    told = live(pytester, "--assay-agent", path, "--assay-lives", "ci", "-k", "test_lives and nack", "-rs")
    told.assert_outcomes(skipped=1, deselected=len(Area) - 1)
    told.stdout.fnmatch_lines(["SKIPPED*nothing is drawn of nack: reference does not declare *"])


@pytest.mark.one_in(3)
def test_session_that_is_killed_takes_its_exploration_with_it(tmp_path: Path) -> None:
    words = ("--assay-agent", "reference", "--assay-lives", "nightly", "-k", "test_lives and mixed")
    command = [sys.executable, "-m", "pytest", *LIVES, *words]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    started: dict[int, str] = {}

    def running() -> bool:
        for pid in descendants(process.pid) - started.keys():
            started[pid] = born(pid)
        return any(tmp_path.glob("runs/*/history/generated/*"))

    def left() -> list[str]:
        return [command_of(pid) for pid, began in started.items() if alive(pid) and born(pid) == began]

    try:
        eventually(running, "a Case that is kept", 60)
        process.kill()
        process.wait(30)
        eventually(lambda: not left(), "the end of the exploration and its agents", 20)
    except AssertionError as error:
        raise AssertionError(f"{error}: {left()}") from error
    finally:
        process.kill()
    assert any(tmp_path.glob("runs/*/exploration.json"))
