"""A real standalone cluster: one master and two workers, processes of their own; a worker is killed meanwhile."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark import ledgers
from tests.spark.histories import DEFECTS, info, pack

from assay_conformance.catalogue import load
from assay_conformance.ledger.collection import sums
from assay_conformance.ledger.judge import judge_rows
from assay_reports.ledgers.opening import open_ledger
from assay_reports.spark import gateway
from assay_reports.spark.progress import Progress
from assay_reports.spark.reconcile import reconcile
from assay_reports.spark.session import Settings, spark_session

START_S = 240.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(folder: Path, java: gateway.Java, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{arguments[0]}-{time.monotonic_ns()}.log").open("wb") as log:
        process = subprocess.Popen(
            gateway.daemon(java, f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]),
            env=gateway.daemon_environment(java),
            cwd=folder,
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


def workers_of(page: str) -> int:
    """How many workers the master's page says are alive."""
    with contextlib.suppress(OSError), urllib.request.urlopen(page, timeout=10) as answer:
        return int(answer.read().decode().count("worker-2"))
    return 0


def await_workers(page: str, wanted: int) -> None:
    end = time.monotonic() + START_S
    while workers_of(page) < wanted:
        assert time.monotonic() < end, "the cluster did not come up"
        time.sleep(0.2)


class KillsAtFirstStage(Progress):
    """Ends a worker while the first jobs run."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__()
        self.killer = threading.Timer(1.0, process.kill)

    @contextlib.contextmanager
    def stage(self, name: str, rows: int = 0) -> Iterator[None]:
        del rows
        if name == "fold":
            self.killer.start()
        yield


def test_a_cluster_that_loses_a_worker_comes_to_the_same_verdict(tmp_path: Path) -> None:
    java = gateway.find_java()
    modules = subprocess.run([java.program, "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.incubator.vector" not in modules:
        pytest.skip("Spark starts executors with a module that the Java from PyPI does not have")
    packed = pack(21, 12, DEFECTS)
    where = ledgers.write(tmp_path / "ledger", packed, info(), seed=21)
    port, page = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    options = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
    worker = ("worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", master)
    with contextlib.ExitStack() as cluster:
        cluster.enter_context(running(tmp_path, java, "master.Master", *options))
        doomed = cluster.enter_context(running(tmp_path, java, *worker))
        cluster.enter_context(running(tmp_path, java, *worker))
        await_workers(f"http://127.0.0.1:{page}/json/", 2)
        conf = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
        with spark_session(Settings(master=master, conf=conf, memory="512m")) as session:
            found = reconcile(session, open_ledger(str(where)), load(), progress=KillsAtFirstStage(doomed))
        assert doomed.poll() is not None
    rows, small = packed.rows(), packed.smalls()
    assert found.verdicts == judge_rows(rows, small, info(), sums(rows, small, info()), load())
