"""A bench that cannot connect to itself blames no client."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line, three_sends
from tests.left_out import Need, reason

from assay_conformance.model.errors import HarnessError
from assay_conformance.model.verdict import Verdict
from assay_faults.network import MemoryNetwork
from assay_fixtures.clock import VirtualClock, run_virtual
from assay_fixtures.reference.probe import ReferenceTrial, Tried

ISOLATED = ("unshare", "--net")
"""Runs a program where the loopback interface is down; not everybody may."""


class FallsOver(MemoryNetwork):
    """Carries every byte, and yet is found broken in the end."""

    async def prove(self) -> None:
        raise HarnessError("the bench cannot connect to itself")


def test_case_on_a_broken_network_is_a_harness_error_whatever_the_client_did() -> None:
    async def main() -> Tried:
        clock = VirtualClock(asyncio.get_running_loop())
        return await ReferenceTrial().run(three_sends("broken-network"), clock, FallsOver())

    judgements = run_virtual(main()).judgements
    assert {(j.verdict, j.reason) for j in judgements} == {
        (Verdict.HARNESS_ERROR, "the bench cannot connect to itself")
    }


def _can_isolate() -> bool:
    return bool(shutil.which("unshare")) and not subprocess.run([*ISOLATED, "true"], capture_output=True).returncode


@pytest.mark.skipif(not _can_isolate(), reason=reason(Need.NAMESPACES))
def test_run_without_a_loopback_interface_ends_before_any_case(tmp_path: Path) -> None:
    arguments = ("certify", "reference", "--select", "flow", "--run-dir", str(tmp_path / "runs"))
    told = subprocess.run(
        [*ISOLATED, *command_line(*arguments)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert told.returncode == 4
    assert told.stderr.splitlines()[-1].startswith("assay: the bench cannot connect to itself on 127.0.0.1: ")
    assert "Traceback" not in told.stderr
    assert not list((tmp_path / "runs").iterdir())


def test_run_without_a_docker_engine_says_so_and_leaves_no_folder(tmp_path: Path) -> None:
    arguments = ("certify", "reference", "--select", "flow", "--run-dir", str(tmp_path / "runs"))
    told = subprocess.run(
        command_line(*arguments, "--broker", "container"),
        cwd=tmp_path,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert told.returncode == 3
    assert re.fullmatch(r"assay: (no Docker engine answers at|--broker container needs the package) .*\n", told.stderr)
    assert not (tmp_path / "runs").exists()
