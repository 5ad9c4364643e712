"""Processes of a pool, and Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, eventually

from assay_reports.spawning import Undisturbed

DEADLINE_S = 60
WORKS = """
import os
import time
from concurrent.futures import ProcessPoolExecutor
from assay_reports.spawning import Undisturbed

if __name__ == "__main__":
    with ProcessPoolExecutor(2, Undisturbed()) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def test_ctrl_c_does_not_reach_a_process_before_its_initializer() -> None:
    with ProcessPoolExecutor(1, Undisturbed()) as pool:
        blocked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.SIGINT in blocked


def test_ctrl_c_reaches_whoever_started_it_as_before() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with ProcessPoolExecutor(1, Undisturbed()) as pool:
        pool.submit(int).result()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process whose parent has ended")
def test_a_process_that_works_ends_with_whoever_started_it(tmp_path: Path) -> None:
    script = tmp_path / "works.py"
    script.write_text(WORKS, "utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as works:
        assert works.stdout is not None
        worker = int(works.stdout.readline())
        works.kill()
    eventually(lambda: not alive(worker), "the end of a process of a pool", DEADLINE_S)
