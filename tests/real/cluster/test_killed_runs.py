"""Whole runs on a real cluster with disks, killed at a drawn moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real.killed_runs import assert_nothing_is_left

pytestmark = pytest.mark.long

RUN = ("certify", "reference", "--broker", "cluster", "--faults", "frames,disks,processes", "--tier", "full")
ONE_CASE = ("--select", "topics/full-disk")


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    assert_nothing_is_left((*RUN, *ONE_CASE), tmp_path, monkeypatch, seed=seed, within_s=25.0)
