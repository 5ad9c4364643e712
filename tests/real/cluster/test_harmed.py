"""Every process of a cluster, killed, stopped and paused under load, through the command line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line

from assay_conformance.model.outside import Kill, Pause, Stop
from assay_conformance.pulsar.cases.ordering.faulty_servers import CASES

pytestmark = pytest.mark.long

HARMED = [case.id for case in CASES if isinstance(case.faults[0].action, Kill | Stop | Pause)]


def test_no_process_that_is_harmed_costs_a_message(tmp_path: Path) -> None:
    chosen = [word for case in HARMED for word in ("--select", case)]
    wish = ("--broker", "cluster", "--faults", "frames,processes", "--tier", "full", "--run-dir", str(tmp_path))

    run = subprocess.run(
        command_line("certify", "reference", *wish, *chosen), capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(HARMED)} Cases" in run.stdout
