"""Whole runs on a real Pulsar in a container: one that passes, and one whose engine dies."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line
from tests.real.containers.conftest import OwnEngine

from assay_faults.cleanup_journal import MARKER
from assay_faults.processes.identity import marked
from assay_fixtures.brokers.container.engine import Engine
from assay_fixtures.tools.image import JAVA

pytestmark = pytest.mark.long

ONE_CASE = ("certify", "reference", "--broker", "container", "--select", "ordering/pipelined-sends")
READY_WITHIN_S = 180
UP = "messaging service is ready"


def run(tmp_path: Path) -> subprocess.Popen[str]:
    """The `assay` command in the background."""
    command = command_line(*ONE_CASE, "--run-dir", str(tmp_path / "runs"))
    return subprocess.Popen(command, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE)


def is_up(tmp_path: Path) -> bool:
    """The node of the run says so in its log."""
    return any(UP in log.read_text() for log in (tmp_path / "runs").glob("*/pulsar.log"))


def nodes() -> list[int]:
    """Processes of containers: their programs lie where only an image has them."""
    return [who.pid for who in marked(MARKER, "assay-") if _program(who.pid) == f"{JAVA}/bin/java"]


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


@pytest.mark.usefixtures("engine")
def test_the_reference_client_passes(tmp_path: Path) -> None:
    with run(tmp_path) as process:
        said, complaint = process.communicate()
    assert process.returncode == 0, said + complaint
    assert is_up(tmp_path)


def test_an_engine_that_dies_in_the_middle_is_three_and_nothing_is_left(
    own_engine: OwnEngine, engine: Engine, tmp_path: Path
) -> None:
    with run(tmp_path) as process:
        until = time.monotonic() + READY_WITHIN_S
        while not is_up(tmp_path):
            assert time.monotonic() < until
            assert process.poll() is None
        assert len(nodes()) == 1
        own_engine.kill()
        _, complaint = process.communicate()
    assert process.returncode == 3, complaint
    assert f"the Docker engine at {own_engine.host} does not answer any more" in complaint.splitlines()[-1]
    assert nodes() == []

    own_engine.start()
    cleaned = subprocess.run(command_line("tools", "clean"), capture_output=True, text=True, check=False)
    assert cleaned.returncode == 0, cleaned.stdout
    assert engine.client.containers.list(all=True) == []
