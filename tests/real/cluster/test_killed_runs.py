"""Whole runs on a real cluster with disks, killed at a drawn moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real.killed_runs import assert_nothing_is_left

pytestmark = pytest.mark.long

RUN = ("certify", "reference", "--broker", "cluster", "--faults", "frames,disks,processes", "--tier", "full")
CASES = ("topics/full-disk", "topics/killed-proxy")
"""Mounts, and a process that comes after the others."""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_left_of_a_run_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, seed: int
) -> None:
    assert_nothing_is_left((*RUN, "--select", case), tmp_path, monkeypatch, seed=seed, within_s=25.0)
