"""An exploration on a node of real Pulsar: Cases are drawn, run and judged there as on the embedded broker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line

from assay_fixtures.brokers.pulsar.site import EXPECTATIONS
from assay_fixtures.cli.known_lists import BROKER_EXPECTATIONS
from assay_fixtures.runner.folder import StoredRun
from assay_reports.exploration import EXPLORATION, read_exploration

CASES = 30


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, check=False, timeout=500)


@pytest.mark.long
def test_a_client_is_explored_on_a_node_and_what_is_found_can_be_replayed_there(tmp_path: Path) -> None:
    wanted = ["--cases", str(CASES), "--for", "4m", "--seed", "5", "--jobs", "8"]
    explored = assay("explore", "reference", "--broker", "jvm", *wanted, "--run-dir", str(tmp_path / "runs"))
    assert explored.returncode in (0, 1), explored.stdout + explored.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    told = read_exploration((folder / EXPLORATION).read_bytes(), "")
    assert (told.figures.cases, told.figures.harness_errors, StoredRun(folder).info.broker.kind) == (CASES, 0, "jvm")
    assert (folder / BROKER_EXPECTATIONS).read_text().startswith(EXPECTATIONS.read_text().rstrip())
    for found in told.found[:1]:
        again = assay("replay", str(folder / found.replay), "--broker", "jvm", "--run-dir", str(tmp_path / "again"))
        assert again.returncode in (0, 1), again.stdout + again.stderr
