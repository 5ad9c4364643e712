"""The disk of a node, full and failed under load, through the command line; and nothing is left of a run with one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line
from tests.real.killed_runs import assert_nothing_is_left

from assay_conformance.model.event import Fired, Healed
from assay_fixtures.runner.folder import StoredRun

pytestmark = pytest.mark.long

RUN = ("certify", "reference", "--broker", "jvm", "--faults", "frames,disks", "--tier", "full")
CASES = {"topics/full-disk-of-broker": "fill-disk", "topics/failed-disk-of-broker": "read-only-disk"}


def selected(*cases: str) -> list[str]:
    return [word for case in cases for word in ("--select", case)]


def test_a_disk_that_was_of_no_use_for_a_while_costs_no_message(tmp_path: Path) -> None:
    run = subprocess.run(
        command_line(*RUN, *selected(*CASES), "--run-dir", str(tmp_path)), capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(CASES)} Cases" in run.stdout
    (folder,) = tmp_path.iterdir()
    stored = StoredRun(folder)
    for case, action in CASES.items():
        history = list(stored.history(case, 1))
        (harmed,) = (event for event in history if isinstance(event, Fired))
        (cured,) = (event for event in history if isinstance(event, Healed))
        assert harmed.action == action
        assert harmed.facts["free_bytes"] == 0 or harmed.facts["read_only"]
        assert cured.facts["free_bytes"]
        assert not cured.facts["read_only"]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    words = (*RUN, *selected("topics/full-disk-of-broker"))
    assert_nothing_is_left(words, tmp_path, monkeypatch, seed=seed, within_s=20.0)
