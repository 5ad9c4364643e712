"""A real standalone cluster: one master and two workers, processes of their own; a worker is killed meanwhile."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark import ledgers
from tests.spark.histories import DEFECTS, info, pack

from assay_conformance.catalogue import load
from assay_conformance.ledger.collection import sums
from assay_conformance.ledger.judge import judge_rows
from assay_conformance.model.verdict import RequirementVerdict
from assay_fixtures.programs import Kept
from assay_reports.spark import gateway
from assay_reports.verdicts import read_verdicts

pytestmark = pytest.mark.long

START_S = 240.0
VECTORS = "jdk.incubator.vector"
"""A module with which Spark starts executors, and which the Java from PyPI does not have."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def java_of_executors(folder: Path) -> gateway.Java:
    """One that Spark's own command of an executor suits."""
    java = gateway.find_java(Kept())
    if VECTORS in subprocess.run([java.program, "--list-modules"], capture_output=True, text=True, check=True).stdout:
        return java
    # Replaced where it stands: it is one word among others that each have to stay one.
    program = folder / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\nfor word do\n  shift\n  [ "$word" = --add-modules='
        f'{VECTORS} ] || set -- "$@" "$word"\ndone\nexec {shlex.quote(str(java.program))} "$@"\n'
    )
    program.chmod(0o755)
    return gateway.Java(program.parent.parent, java.major)


class Cluster:
    """A master and its workers, each with a folder for what it writes."""

    def __init__(self, folder: Path, java: gateway.Java, stack: contextlib.ExitStack) -> None:
        self._folder, self._java, self._stack = folder, java, stack
        port, page = free_port(), free_port()
        self.master, self._page = f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}/json/"
        place = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        stack.enter_context(self._running("master", "master.Master", *place))
        self.workers = {name: self._worker(name) for name in ("worker-a", "worker-b")}
        await_that(lambda: self.states() == ["ALIVE", "ALIVE"], "a master with two workers")

    def _worker(self, name: str) -> subprocess.Popen[bytes]:
        place = ("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", str(self._folder / name))
        size = ("--cores", "1", "--memory", "1g")
        return self._stack.enter_context(self._running(name, "worker.Worker", *place, *size, self.master))

    @contextlib.contextmanager
    def _running(self, name: str, program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                gateway.daemon(self._java, f"org.apache.spark.deploy.{program}", *arguments),
                env=gateway.daemon_environment(self._java),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def states(self) -> list[str]:
        """Of the workers, as the master sees them."""
        with contextlib.suppress(OSError), urllib.request.urlopen(self._page, timeout=10) as answer:
            told: dict[str, Any] = json.load(answer)
            return [worker["state"] for worker in told["workers"]]
        return []

    def at_work(self) -> str | None:
        """A worker whose executor has got a task."""
        for name in self.workers:
            for log in (self._folder / name).glob("app-*/*/stderr"):
                if "Got assigned task" in log.read_text(errors="replace"):
                    return name
        return None


def await_that(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + START_S
    while not holds():
        assert time.monotonic() < end, f"{what}: not in {START_S:.0f} s"
        time.sleep(0.05)


def told(row: RequirementVerdict) -> tuple[Any, ...]:
    return row.requirement, row.verdict, row.exercised, row.findings, row.reason


def test_a_cluster_that_loses_a_worker_at_its_work_comes_to_the_same_verdict(tmp_path: Path) -> None:
    packed = pack(21, 12, DEFECTS)
    where = ledgers.write(tmp_path / "ledger", packed, info(), seed=21)
    with contextlib.ExitStack() as stack:
        cluster = Cluster(tmp_path, java_of_executors(tmp_path), stack)
        assay = Path(sys.executable).with_name("assay")
        command: list[str | Path] = [assay, "reconcile", where, "--master", cluster.master]
        conf = ("--memory", "512m", "--conf", "spark.executor.memory=512m", "--conf", "spark.sql.shuffle.partitions=2")
        with subprocess.Popen([*command, *conf], stdout=subprocess.DEVNULL) as driver:
            stack.callback(driver.kill)
            await_that(lambda: cluster.at_work() is not None or driver.poll() is not None, "an executor with a task")
            doomed = cluster.at_work()
            assert doomed is not None
            cluster.workers[doomed].kill()
            assert driver.wait() == 1
        assert sorted(cluster.states()) == ["ALIVE", "DEAD"]
    rows, small = packed.rows(), packed.smalls()
    judged = judge_rows(rows, small, info(), sums(rows, small, info()), load())
    found = read_verdicts((where / "verdicts.json").read_bytes(), "verdicts.json")
    assert [told(row) for row in found.requirements] == [told(row) for row in judged]
