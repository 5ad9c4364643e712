"""What goes on after a runner and its keeper were killed is ended as far as it is known to be theirs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, eventually

from assay_faults.bounds import MOST_NOTES_BYTES
from assay_faults.cleaning import clean
from assay_faults.kept import NOTES_SUFFIX, Notes
from assay_faults.processes.identity import Identity, identify

PATIENCE_S = 60

RUNNER = """
import os, signal, sys, time
from assay_faults.processes.keeper import Order, start
from assay_fixtures import leftovers, programs
program = start(Order(["/bin/sh", "-c", sys.argv[1]], os.environ), None, None, 2)
print("begun", flush=True)
time.sleep(600)
"""
OWN_SESSION = "setsid env -i /bin/sleep 600 & echo $! >> {pids}; "
WITH_THE_MARK = "setsid /bin/sleep 600 & echo $! >> {pids}; "
BELOW = "setsid env -i /bin/sh -c 'sleep 2.5; /bin/sleep 600 & echo $! >> {pids}; wait' & echo $! >> {pids}; "


class KilledRun:
    """A runner whose program runs `script`; both it and its keeper get SIGKILL once they have been noted."""

    def __init__(self, folder: Path, script: str) -> None:
        self.pids = folder / "pids"
        self.ledgers = folder / "cache" / "keepers"
        self.script = script.format(pids=self.pids) + "wait"
        self.environment = {**os.environ, "ASSAY_CACHE": str(folder / "cache")}

    def left(self) -> list[int]:
        text = self.pids.read_text() if self.pids.exists() else ""
        return [pid for pid in map(int, text.split()) if alive(pid)]

    def notes(self) -> Notes | None:
        return next(filter(None, (Notes.read(path) for path in self.ledgers.glob(f"*{NOTES_SUFFIX}"))), None)

    def noted(self) -> set[int]:
        notes = self.notes()
        return {process.pid for process in notes.noted} if notes else set()

    def die(self, processes: int, noted: int) -> None:
        command = [sys.executable, "-c", RUNNER, self.script]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment) as runner:
            try:
                assert runner.stdout is not None
                assert runner.stdout.readline() == b"begun\n"
                eventually(lambda: len(self.left()) == processes, "its processes", PATIENCE_S)
                eventually(lambda: len(self.noted() & set(self.left())) >= noted, "its notes", PATIENCE_S)
                (keeper,) = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
                # Stopped first: of two that are killed one after the other the keeper might see the first one's end.
                os.kill(int(keeper), signal.SIGSTOP)
            finally:
                runner.kill()
            os.kill(int(keeper), signal.SIGKILL)
            runner.wait(PATIENCE_S)
        eventually(lambda: not alive(int(keeper)), "the end of the keeper", PATIENCE_S)


@pytest.mark.parametrize("script", [OWN_SESSION, OWN_SESSION * 2, WITH_THE_MARK, WITH_THE_MARK + OWN_SESSION])
def test_what_was_noted_or_carries_the_mark_is_ended_after_both_were_killed(script: str, tmp_path: Path) -> None:
    run = KilledRun(tmp_path, script)
    run.die(processes=script.count("sleep"), noted=script.count("env -i"))
    left = run.left()
    assert left
    cleaned = clean(run.ledgers)
    assert run.left() == []
    assert {one.removed for one in cleaned} >= {f"process sleep ({pid})" for pid in left}
    assert [one.trouble for one in cleaned if one.trouble] == []
    assert [*run.ledgers.iterdir()] == []


def test_what_is_below_something_noted_is_ended_with_it(tmp_path: Path) -> None:
    run = KilledRun(tmp_path, BELOW)
    run.die(processes=2, noted=1)
    clean(run.ledgers)
    assert run.left() == []


def test_what_the_keeper_had_not_noted_yet_is_named_and_left_alone(tmp_path: Path) -> None:
    run = KilledRun(tmp_path, OWN_SESSION)
    run.die(processes=1, noted=1)
    (path,) = run.ledgers.glob(f"*{NOTES_SUFFIX}")
    (pid,) = run.left()
    process = identify(pid)
    assert process is not None
    # As after a look right before it began.
    _, *above = path.read_text().splitlines()[0].split()
    path.write_text(" ".join([str(process.start_ticks - 1), *above]) + "\n")
    try:
        cleaned = clean(run.ledgers)
        assert f"process sleep ({pid})" in [one.suspected for one in cleaned]
        assert [one.removed for one in cleaned if one.removed] == []
        assert run.left() == [pid]
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_later_process_of_a_noted_number_is_not_touched(tmp_path: Path) -> None:
    run = KilledRun(tmp_path, OWN_SESSION)
    run.die(processes=1, noted=1)
    (path,) = run.ledgers.glob(f"*{NOTES_SUFFIX}")
    (pid,) = run.left()
    path.write_text(f"1\n{pid} 1 sleep\n")
    try:
        assert clean(run.ledgers) == []
        assert run.left() == [pid]
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_runner_alone_that_is_killed_leaves_nothing_to_clean(tmp_path: Path) -> None:
    run = KilledRun(tmp_path, OWN_SESSION + WITH_THE_MARK)
    command = [sys.executable, "-c", RUNNER, run.script]
    with subprocess.Popen(command, env=run.environment) as runner:
        eventually(lambda: len(run.left()) == 2, "its processes", PATIENCE_S)
        runner.kill()
        runner.wait(PATIENCE_S)
    eventually(lambda: run.left() == [], "their end", PATIENCE_S)
    assert clean(run.ledgers) == []


@pytest.mark.parametrize("content", [b"", b"x\n", b"\n", b"9" * 5000, b"1 x\n7 8 sleep\n", b"7" * 2 * MOST_NOTES_BYTES])
def test_notes_that_are_none_say_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    assert Notes.read(path) is None


def test_a_line_that_was_cut_off_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"5 1\n7 8 sleep\n7\n9 x\n" + b"9" * 5000 + b" 9\n10 11")
    notes = Notes.read(tmp_path / "notes")
    assert notes is not None
    assert notes.noted == {Identity(7, 8), Identity(10, 11)}


def test_notes_are_read_from_a_file_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/proc/self/status")
    assert [Notes.read(tmp_path / name) for name in ("fifo", "link", "none")] == [None] * 3
