"""Ctrl-C, SIGTERM and SIGKILL at seeded random moments: what is known stays readable, and nothing stays behind."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, descendants, eventually, listening, listening_of
from tests.end_to_end.running import command_line, impostor, mutant

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Limits
from assay_conformance.model.event import Ended
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.schema import FileKind
from assay_fixtures.runner.folder import StoredRun
from assay_reports.replay import Breach, Replay, render

GONE_S = 15.0
"""A second on an idle machine, some on a busy one; what is left behind is still there after it."""
SELECTED = ("--select", "resend", "--select", "nack", "--jobs", "2")
"""Cases that take several seconds in all: no moment below comes after the last of them."""

NOTHING_JUDGED = "nothing was judged: the run ended before its agent had said hello\n"
EXIT_CODE = {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -signal.SIGKILL}


@dataclass
class Running:
    """A certification in a process group of its own, and what it had going when it was last looked at."""

    process: subprocess.Popen[str]
    runs: Path
    agents: set[int]
    sockets: set[str]

    def look(self) -> bool:
        """Whether there are agents and open ports."""
        self.agents |= descendants(self.process.pid)
        self.sockets |= listening_of(self.process.pid)
        return bool(self.agents and self.sockets)

    def signal(self, number: signal.Signals) -> float:
        """Send it; the time it was sent. Agents are sessions of their own, which a terminal does not reach either."""
        self.look()
        self.process.send_signal(number)
        return time.monotonic()

    @property
    def folder(self) -> Path:
        (folder,) = self.runs.iterdir()
        return folder

    def left(self) -> str:
        """What is still there of it."""
        agents = {pid for pid in self.agents if alive(pid)}
        sockets = self.sockets & listening()
        return f"agents {agents}, listening sockets {sockets}" if agents or sockets else ""


@contextmanager
def certifying(runs: Path, *arguments: str, command: str = "certify") -> Iterator[Running]:
    """`assay certify`, or another command with a run, as it runs."""
    process = subprocess.Popen(
        command_line(command, *arguments, "--run-dir", str(runs)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    running = Running(process, runs, set(), set())
    try:
        yield running
    finally:
        process.kill()
        process.communicate()


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command_line("check", str(folder)), capture_output=True, text=True, check=False)


def interrupted(runs: Path, number: signal.Signals, moment_s: float, arguments: Sequence[str]) -> Running:
    """A run that got the signal so long after its first Case began, and has ended since."""
    with certifying(runs, *arguments, *SELECTED) as running:
        eventually(lambda: running.look() and any(runs.glob("*/history")), "a first Case", 60)
        time.sleep(moment_s)  # a moment is what is tried out
        sent_s = running.signal(number)
        eventually(lambda: not running.left(), "the end of every agent and port", sent_s + GONE_S - time.monotonic())
        running.process.wait(30)
        return running


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", EXIT_CODE, ids=lambda number: number.name)
def test_interrupted_run_is_readable_and_leaves_nothing(number: signal.Signals, seed: int, tmp_path: Path) -> None:
    moment_s = random.Random(f"{number} {seed}").uniform(0, 1.2)
    running = interrupted(tmp_path / "runs", number, moment_s, ["reference"])
    assert running.process.returncode == EXIT_CODE[number]
    stored = StoredRun(running.folder)
    for case in stored.plan:
        for attempt in stored.attempts(case):
            tuple(stored.history(case, attempt))
    judged_again = check(running.folder)
    assert (judged_again.returncode, judged_again.stderr) == (130, "")
    assert "exit 130: interrupted" in judged_again.stdout


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_agent_that_ignores_every_hint_goes_too(number: signal.Signals, tmp_path: Path) -> None:
    agent = impostor(tmp_path, "ignore-every-hint")
    interrupted(tmp_path / "runs", number, 0.2, [str(agent)])


@pytest.mark.one_in(2)
def test_interruption_while_the_agent_starts_leaves_nothing(tmp_path: Path) -> None:
    agent = impostor(tmp_path, "start-mute")
    with certifying(tmp_path / "runs", str(agent)) as running:
        eventually(lambda: bool(descendants(running.process.pid)), "an agent", 30)
        sent_s = running.signal(signal.SIGINT)
        eventually(lambda: not running.left(), "the end of the agent", sent_s + GONE_S - time.monotonic())
        _, told = running.process.communicate(timeout=30)
    assert running.process.returncode == 130
    assert told.splitlines()[-1] == "assay: interrupted"


def _long_replay(path: Path) -> Path:
    """A failure that takes half a minute to run again."""
    plan = Schedule()
    plan.client()
    plan.wait_ms(30_000)
    requirement = RequirementId("robustness.calls-do-not-hang")
    breach = Breach(requirement=requirement, clause="c", code="operation-never-ended", sentence="s")
    failure = Replay(
        schema="1.0",
        file=FileKind.REPLAY,
        suite="0",
        catalogue="0",
        agent="reference",
        client="reference",
        version="0",
        broker="embedded",
        case=plan.case("robustness/long", "A long wait", (requirement,), limits=Limits(case_ms=60_000)),
        breaches=(breach,),
    )
    path.write_bytes(render(failure))
    return path


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_replay_that_is_interrupted_says_so(number: signal.Signals, tmp_path: Path) -> None:
    file = _long_replay(tmp_path / "failure.json")
    with certifying(tmp_path / "runs", str(file), "--agent", "reference", command="replay") as running:
        eventually(lambda: any((tmp_path / "runs").glob("*/history")), "the Case", 60)
        running.signal(number)
        told, _ = running.process.communicate(timeout=30)
    assert running.process.returncode == 130
    assert told.splitlines()[0] == "interrupted  robustness/long"
    assert f"run   {running.folder}" in told


@pytest.mark.one_in(2)
def test_run_killed_while_its_agent_starts_can_be_read(tmp_path: Path) -> None:
    agent = impostor(tmp_path, "start-mute")
    with certifying(tmp_path / "runs", str(agent)) as running:
        eventually(lambda: bool(descendants(running.process.pid)), "an agent", 30)
        running.signal(signal.SIGKILL)
        running.process.wait(30)
    judged = check(running.folder)
    assert (judged.returncode, judged.stderr) == (130, NOTHING_JUDGED)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder that its writer was killed over, with at least one Case judged."""
    base = tmp_path_factory.mktemp("killed")
    agent = mutant(base, "resend-changes-metadata")
    with certifying(base / "runs", str(agent), *SELECTED) as running:
        eventually(lambda: b"resend" in findings(running), "a finding", 30)
        running.signal(signal.SIGKILL)
        running.process.wait(30)
    return running.folder


def findings(running: Running) -> bytes:
    return b"".join(path.read_bytes() for path in running.runs.glob("*/findings.jsonl"))


@pytest.mark.one_in(2)
def test_killed_run_still_tells_what_it_knew(killed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(killed, tmp_path / "run")
    assert check(folder).returncode == 130
    assert StoredRun(folder).judgements()


@pytest.mark.few(2)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.999])
def test_history_torn_anywhere_is_read_to_its_last_whole_line(killed: Path, share: float, tmp_path: Path) -> None:
    folder = shutil.copytree(killed, tmp_path / "run")
    stored = StoredRun(folder)
    histories = ((case, tuple(stored.history(case, 1))) for case in stored.plan if stored.attempts(case))
    # Cases run side by side: some had only begun when the run was killed.
    case, whole = next((case, events) for case, events in histories if events and isinstance(events[-1], Ended))
    path = folder / "history" / case / "1.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[: round(len(data) * share)])
    torn = tuple(stored.history(case, 1))
    assert torn == whole[: len(torn)]
    assert len(torn) < len(whole)
    assert check(folder).returncode == 130
