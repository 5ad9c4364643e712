"""Processes of a pool, and Ctrl-C."""

from __future__ import annotations

import signal
from concurrent.futures import ProcessPoolExecutor

from assay_reports.spawning import Undisturbed


def test_ctrl_c_does_not_reach_a_process_before_its_initializer() -> None:
    with ProcessPoolExecutor(1, Undisturbed()) as pool:
        blocked = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    assert signal.SIGINT in blocked


def test_ctrl_c_reaches_whoever_started_it_as_before() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with ProcessPoolExecutor(1, Undisturbed()) as pool:
        pool.submit(int).result()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
