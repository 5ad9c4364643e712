"""Programs that the keeper starts: each is found and ended with all that it started."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, eventually

from assay_faults.processes import keeper
from assay_faults.processes.identity import parent_of
from assay_faults.processes.keeper import Keeper, Order, Program, Watched, start
from assay_faults.processes.running import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")

PATIENCE_S = 30.0
WITHOUT_A_TRACE = "setsid env -i {sh} -c 'sleep 300 & echo $! >> {pids}; echo $$ >> {pids}; wait' &"
"""Two processes with a session and an environment of their own, which write down who they are."""


def shell(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def begun(script: str) -> Program:
    return start(Order(shell(script), os.environ), None, None, 2)


def hidden(pids: Path) -> str:
    """A script that starts them, and waits until they are there."""
    begin = WITHOUT_A_TRACE.format(sh="/bin/sh", pids=pids)
    return f"{begin} until [ -f {pids} ] && [ $(wc -l < {pids}) = 2 ]; do sleep 0.01; done"


def written(pids: Path) -> list[int]:
    return [int(line) for line in pids.read_text().split()]


def test_a_tool_is_told_its_input_and_says_its_output_and_status() -> None:
    done = run(shell("cat; echo more >&2; exit 3"), given="word", within_s=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (3, "word", "more\n")


def test_a_program_that_is_not_there_ends_with_127_and_a_sentence() -> None:
    done = run(["/no/such/program"], within_s=PATIENCE_S)
    assert (done.returncode, done.stderr) == (127, "cannot start /no/such/program: No such file or directory\n")


def test_a_program_begins_in_its_folder_with_its_environment_alone(tmp_path: Path) -> None:
    done = run(
        shell("pwd; echo $GIVEN; echo $HOME"), environment={"GIVEN": "yes"}, folder=tmp_path, within_s=PATIENCE_S
    )
    assert done.stdout.splitlines() == [str(tmp_path), "yes", ""]


def test_a_program_has_the_signals_that_it_would_have_anywhere() -> None:
    ignored = run(shell("grep -E 'Sig(Ign|Blk)' /proc/self/status"), within_s=PATIENCE_S).stdout.split()
    assert ignored[1::2] == ["0" * 16, "0" * 16]


def test_the_pid_is_that_of_the_program_which_leads_a_session_of_its_own() -> None:
    program = begun("exec sleep 300")
    assert program.pid is not None
    assert parent_of(program.pid) == keeper.own().pid
    assert os.getsid(program.pid) == program.pid
    program.end()
    assert program.wait(PATIENCE_S) == -signal.SIGKILL


def test_what_a_program_leaves_at_its_end_is_gone_when_its_end_is_reported(tmp_path: Path) -> None:
    run(shell(hidden(tmp_path / "pids")), within_s=PATIENCE_S)
    assert not any(map(alive, written(tmp_path / "pids")))


def test_what_a_killed_program_started_is_killed_with_it(tmp_path: Path) -> None:
    program = begun(f"{hidden(tmp_path / 'pids')}; touch {tmp_path / 'there'}; sleep 300")
    eventually((tmp_path / "there").exists, "both are there", PATIENCE_S)
    assert program.pid is not None
    os.kill(program.pid, signal.SIGKILL)
    assert program.wait(PATIENCE_S) == -signal.SIGKILL
    assert not any(map(alive, written(tmp_path / "pids")))


def test_what_loses_its_parent_lives_as_long_as_its_program(tmp_path: Path) -> None:
    program = begun(f"({hidden(tmp_path / 'pids')}); touch {tmp_path / 'there'}; sleep 300")
    eventually((tmp_path / "there").exists, "both are there", PATIENCE_S)
    run(["true"], within_s=PATIENCE_S)
    assert all(map(alive, written(tmp_path / "pids")))
    program.end()
    program.wait(PATIENCE_S)
    assert not any(map(alive, written(tmp_path / "pids")))


def test_a_tool_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"sh had not ended after 1 s"):
        run(shell(f"{hidden(tmp_path / 'pids')}; sleep 300"), within_s=1)
    assert not any(map(alive, written(tmp_path / "pids")))


def test_one_of_many_programs_ends_alone() -> None:
    one, two = begun("exec sleep 300"), begun("exec sleep 300")
    one.end()
    one.wait(PATIENCE_S)
    assert two.poll() is None
    two.end()
    two.wait(PATIENCE_S)


def test_a_program_that_nothing_refers_to_goes_on() -> None:
    pid = begun("exec sleep 300").pid
    gc.collect()
    assert pid is not None
    # The keeper would have heard of a closed line before it could start another program.
    run(["true"], within_s=PATIENCE_S)
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


RUNNER = """
import os, signal, sys, time
from assay_faults.processes.keeper import Order, start
for number in signal.SIGINT, signal.SIGTERM, signal.SIGQUIT:  # ignored where tests run after a shell
    signal.signal(number, signal.SIG_DFL)
program = start(Order(["/bin/sh", "-c", sys.argv[1]], os.environ), None, None, 2)
print("begun", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_nothing_outlives_a_runner_that_is_ended_by_a_signal(tmp_path: Path, by: signal.Signals) -> None:
    script = f"{hidden(tmp_path / 'pids')}; touch {tmp_path / 'there'}; sleep 300"
    with subprocess.Popen([sys.executable, "-c", RUNNER, script, "300"], stderr=subprocess.DEVNULL) as runner:
        eventually((tmp_path / "there").exists, "both are there", PATIENCE_S)
        runner.send_signal(by)
        runner.wait(PATIENCE_S)
    eventually(lambda: not any(map(alive, written(tmp_path / "pids"))), "nothing is left", PATIENCE_S)


def test_nothing_is_left_when_a_runner_has_ended(tmp_path: Path) -> None:
    script = f"{hidden(tmp_path / 'pids')}; touch {tmp_path / 'there'}; sleep 300"
    wait_for_it = f"while not os.path.exists({str(tmp_path / 'there')!r}): time.sleep(0.01)"
    subprocess.run([sys.executable, "-c", RUNNER + wait_for_it, script, "0"], check=True, timeout=PATIENCE_S)
    assert not any(map(alive, written(tmp_path / "pids")))


@pytest.mark.one_in(2)
def test_a_keeper_that_is_killed_takes_its_programs_along_and_another_is_begun() -> None:
    program = begun("exec sleep 300")
    os.kill(keeper.own().pid, signal.SIGKILL)
    assert program.wait(PATIENCE_S) == -signal.SIGKILL
    assert run(["true"], within_s=PATIENCE_S).returncode == 0


def test_a_program_that_never_began_is_an_error() -> None:
    stopped = Keeper()
    os.kill(stopped.pid, signal.SIGSTOP)
    waiting = stopped.ask(Order(["true"], {}), None, None, 2)
    with pytest.raises(OSError, match="does not answer"):
        waiting.begun(within_s=0.1)
    os.kill(stopped.pid, signal.SIGKILL)
    stopped.close()


def test_a_keeper_that_has_just_been_killed_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    # Its descriptors are closed before it can be waited for: for a moment it seems to live.
    monkeypatch.setattr(Keeper, "lives", lambda _keeper: True)
    killed = keeper.own()
    os.kill(killed.pid, signal.SIGKILL)
    program = start(Order(["true"], {}), None, None, 2)
    assert (program.wait(10), keeper.own() is killed) == (0, False)


def test_the_event_loop_hears_of_the_end() -> None:
    async def status() -> int:
        watched = await Watched.start(Order(shell("exit 5"), os.environ), None, None, 2)
        return await asyncio.wait_for(watched.wait(), PATIENCE_S)

    assert asyncio.run(status()) == 5


def test_what_loses_its_parent_below_a_program_that_adopts_nothing_is_ended_on_demand(tmp_path: Path) -> None:
    script = f"({hidden(tmp_path / 'pids')}); touch {tmp_path / 'there'}; sleep 300"
    program = start(Order(shell(script), os.environ, adopts=False), None, None, 2)
    eventually((tmp_path / "there").exists, "both are there", PATIENCE_S)
    program.sweep()
    eventually(lambda: not any(map(alive, written(tmp_path / "pids"))), "nothing is left", PATIENCE_S)
    assert program.poll() is None
    program.end()
    program.wait(PATIENCE_S)
