"""Ctrl-C in what runs for long: the exit code says so, what is known stays, and no process or folder is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.processes import alive, command_of, descendants, eventually, is_in
from tests.end_to_end.running import command_line
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_fixtures.soak.reading_back import read_back
from assay_reports.ledgers.opening import open_ledger

pytestmark = pytest.mark.long

DEADLINE_S = 600


@dataclass
class Command:
    """An `assay` command as a terminal has it: a process group of its own, which Ctrl-C reaches as a whole."""

    process: subprocess.Popen[str]
    log: Path
    spill: Path
    seen: set[int] = field(default_factory=set)

    def told(self) -> str:
        return self.log.read_text()

    def interrupt(self, when: Callable[[], bool], what: str) -> None:
        def met() -> bool:
            assert self.process.poll() is None, self.told()
            return when()

        eventually(met, what, DEADLINE_S)
        self.seen |= descendants(self.process.pid)
        os.killpg(self.process.pid, signal.SIGINT)

    def ended(self) -> int:
        """The exit code, once nothing of it is left."""
        code = self.process.wait(DEADLINE_S)
        assert not [pid for pid in self.seen if alive(pid)]
        assert list(self.spill.iterdir()) == []
        return code


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Command]:
    log, spill = folder / "log", folder / "spill"
    spill.mkdir()
    with log.open("w") as file:
        process = subprocess.Popen(
            command_line(*arguments),
            stdout=file,
            stderr=file,
            text=True,
            env={**os.environ, "TMPDIR": str(spill)},
            start_new_session=True,
        )
    command = Command(process, log, spill)
    try:
        yield command
    finally:
        for pid in {process.pid, *descendants(process.pid), *command.seen}:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def test_a_soak_that_is_interrupted_keeps_its_rows_and_says_how_they_are_judged(tmp_path: Path) -> None:
    where = tmp_path / "ledger"
    with running(tmp_path, "soak", "reference", *_load("10m"), "--ledger", str(where)) as soak:
        soak.interrupt(lambda: " s  sent" in soak.told(), "some load")
        assert soak.ended() == 130
        assert f"assay reconcile {where}" in soak.told()
    ledger = open_ledger(str(where))
    assert ledger.info.ended_unix_ms is not None
    assert ledger.rows("stored") > 50


def test_a_soak_that_is_interrupted_while_it_is_judged_keeps_its_rows(tmp_path: Path) -> None:
    where = tmp_path / "ledger"
    with running(tmp_path, "soak", "reference", *_load("4s"), "--ledger", str(where)) as soak:
        # Only what was read back and taken in is judged, so this is behind both.
        soak.interrupt(lambda: is_in(soak.spill, "gateway"), "a JVM")
        assert soak.ended() == 130
    assert open_ledger(str(where)).rows("stored") > 50


def _load(lasts: str) -> tuple[str, ...]:
    return ("--rate", "50", "--for", lasts, "--faults", "none", "--partitions", "0", "--producers", "1")


@pytest.mark.parametrize("moment", ["gateway", "fold"])
def test_a_reconcile_that_is_interrupted_leaves_nothing_but_whole_folds(moment: str, tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 40), info(), 1)
    with running(tmp_path, "reconcile", str(where)) as reconcile:
        places = {"gateway": reconcile.spill, "fold": where}
        reconcile.interrupt(lambda: is_in(places[moment], moment), moment)
        assert reconcile.ended() == 130
        assert reconcile.told().splitlines()[-1] == "assay: interrupted"
    assert not (where / "report.html").exists()


def test_a_reconcile_that_is_killed_leaves_no_jvm(tmp_path: Path) -> None:
    where = write(tmp_path / "ledger", pack(1, 40), info(), 1)
    with running(tmp_path, "reconcile", str(where)) as reconcile:
        eventually(lambda: is_in(reconcile.spill, "gateway"), "a JVM", DEADLINE_S)
        reconcile.seen = descendants(reconcile.process.pid)
        (jvm,) = (pid for pid in reconcile.seen if "SparkSubmit" in command_of(pid))
        # One that runs would hear that its stdin has ended.
        os.kill(jvm, signal.SIGSTOP)
        reconcile.process.kill()
        eventually(lambda: not any(map(alive, reconcile.seen)), "the end of the JVM", DEADLINE_S)


def test_a_watcher_that_is_interrupted_ends_and_the_run_goes_on(tmp_path: Path) -> None:
    going_on = msgspec.structs.replace(info(), ended_unix_ms=None)
    where = write(tmp_path / "ledger", pack(1, 4), going_on, 1)
    with running(tmp_path, "watch", str(where)) as watch:
        watch.interrupt(lambda: any((where / "watch").glob("checkpoint/commits/0")), "a first batch")
        assert watch.ended() == 130
        assert watch.told().splitlines()[-1] == "assay: interrupted"
    assert open_ledger(str(where)).info.ended_unix_ms is None


def test_reading_back_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    def begun() -> set[int]:
        """Past the keeper, which goes on as long as this process."""
        return {pid for pid in descendants(os.getpid()) - before if "_keeper" not in command_of(pid)}

    async def cancelled() -> None:
        options = {"service_url": "pulsar://127.0.0.1:9", "topic": "t", "columns": "stored"}
        reading = asyncio.create_task(read_back(tmp_path, options, 1))
        await asyncio.to_thread(eventually, lambda: bool(begun()), "a process that reads", DEADLINE_S)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not begun()

    before = descendants(os.getpid())
    asyncio.run(cancelled())
