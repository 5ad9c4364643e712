"""Commands end, and nothing is left of them, whatever the agent and its children do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, command_of, descendants, eventually
from tests.end_to_end.running import agent_toml, command_line

PATIENCE_S = 120

HOLDS_STDOUT = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "300"], start_new_session=True, env={})
open(sys.argv[1], "a").write(f"{child.pid}\\n")
"""
HELD = {
    "exits": HOLDS_STDOUT + "os._exit(4)",
    "is killed": HOLDS_STDOUT + "os.kill(os.getpid(), 9)",
}
COMMANDS = {"certify": 2, "explore": 2, "agent check": 1}
"""Exit codes for an agent that does nothing else."""


def agent(folder: Path, how: str) -> Path:
    return agent_toml(folder, sys.executable, "-c", HELD[how], str(folder / "pids"))


def left(folder: Path) -> list[int]:
    pids = [int(line) for line in (folder / "pids").read_text().split()]
    return [pid for pid in pids if alive(pid)]


def arguments(command: str, folder: Path, path: Path) -> list[str]:
    runs = [] if command == "agent check" else ["--run-dir", str(folder / "runs")]
    return [*command.split(), str(path), *runs]


@pytest.mark.few(2)
@pytest.mark.parametrize("how", HELD)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_grandchild_that_holds_the_output_holds_no_command(command: str, how: str, tmp_path: Path) -> None:
    path = agent(tmp_path, how)
    done = subprocess.run(
        command_line(*arguments(command, tmp_path, path)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == COMMANDS[command], done.stderr
    assert left(tmp_path) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_what_an_agents_children_started_ends_with_the_runner(number: signal.Signals, tmp_path: Path) -> None:
    lives_on = HOLDS_STDOUT + "import time; time.sleep(300)"
    path = agent_toml(tmp_path, sys.executable, "-c", lives_on, str(tmp_path / "pids"))
    command = command_line("certify", str(path), "--run-dir", str(tmp_path / "runs"))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
        pids = tmp_path / "pids"
        eventually(lambda: pids.exists() and pids.read_text().endswith("\n"), "a grandchild", PATIENCE_S)
        runner.send_signal(number)
        runner.wait(PATIENCE_S)
    eventually(lambda: left(tmp_path) == [], "its end", 30)


def test_what_goes_on_after_the_runner_and_its_keeper_were_killed_is_ended_by_tools_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    lives_on = HOLDS_STDOUT + "import time; time.sleep(300)"
    path = agent_toml(tmp_path, sys.executable, "-c", lives_on, str(tmp_path / "pids"))
    command = command_line("certify", str(path), "--run-dir", str(tmp_path / "runs"))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
        try:
            eventually(lambda: (tmp_path / "pids").exists() and left(tmp_path) != [], "a grandchild", PATIENCE_S)
            grandchild = left(tmp_path)[0]
            eventually(lambda: f"\n{grandchild} " in noted(tmp_path / "cache"), "its note", PATIENCE_S)
            keepers = [pid for pid in descendants(runner.pid) if "_keeper.py" in command_of(pid)]
            for pid in keepers:
                os.kill(pid, signal.SIGSTOP)
        finally:
            runner.kill()
        for pid in keepers:
            os.kill(pid, signal.SIGKILL)
        runner.wait(PATIENCE_S)
    assert grandchild in left(tmp_path)
    clean = command_line("tools", "clean")
    cleaned = subprocess.run(clean, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert f"removed process sleep ({grandchild})\n" in cleaned.stdout
    assert left(tmp_path) == []


def noted(cache: Path) -> str:
    return "".join(path.read_text() for path in (cache / "keepers").glob("*.notes"))
