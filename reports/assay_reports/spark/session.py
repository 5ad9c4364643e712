"""One Spark session: its JVM, its settings, a folder of its own for what spills, and its end in good order."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay_conformance.model.errors import HarnessError, UnavailableError, UsageError
from assay_reports.bounds import LEAST_FREE_SPARK_BYTES, MASTER_CONNECTS_S, WORKERS_COME_S
from assay_reports.programs import Programs
from assay_reports.spark import gateway

MEASURED: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A second, small map in front of the aggregate's own: a fifth more CPU for keys that are nearly sorted already.
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Files of a ledger are written whole; `success` files would be one more name to leave out.
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Settings that paid when measured, and what keeps Spark quiet; `--conf` outweighs them."""

_SOUND: Mapping[str, str] = {
    # Parquet's reader for the JVM verifies no checksum unless it is asked to; Spark's vectorized one reads pages by it.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}
"""What makes a damaged page an error; `--conf` cannot take it away."""

_NO_SPACE = "No space left on device"
_LOCAL = ("local", "local[")
_SIZE = re.compile(r"[1-9]\d*[kmgKMG]")
_REFUSED = re.compile(r"(?:IllegalArgument|NumberFormat)Exception: ([^\n]+)")
_MASTER = re.compile(r"local|local(-cluster)?\[[^\]]+\]|spark://.+|yarn|k8s://.+")


@dataclass(frozen=True, slots=True)
class Settings:
    """`memory` is the JVM's heap; `spill` the folder under which a folder is made for what does not fit in it."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    memory: str = "2g"
    spill: Path | None = None


@contextlib.contextmanager
def spark_session(programs: Programs, settings: Settings, name: str = "assay") -> Iterator[Any]:
    """Open a SparkSession that ends, with its JVM and its folder, when the block does, however it ends. `programs`
    starts the JVM.

    UnavailableError without a suitable Java or with a master that does not answer, UsageError for a folder that cannot
    be written and for settings that Spark refuses.
    """
    # py4j tells the root logger of every Ctrl-C, with a traceback; one without a handler would print it.
    logging.getLogger().addHandler(logging.NullHandler())
    _reachable(settings.master)
    if not _SIZE.fullmatch(settings.memory):
        raise UsageError(f"--memory {settings.memory}: expected a size with its unit, as 2g or 1500m")
    folder = _folder(settings.spill)
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        # After the folder: where there is no room at all, no Java is found either.
        java = gateway.find_java(programs)
        with _space(folder):
            jvm = gateway.start(programs, java, settings.memory, folder, _conf(settings, name, folder))
            try:
                session = _connected(jvm, settings)
                _hear_by(interrupt)
                try:
                    _await_workers(session, settings.master)
                    with _with_java_message(folder):
                        yield session
                finally:
                    _end(session)
            finally:
                _forget()
                jvm.close()
    finally:
        _hear_by(interrupt)
        shutil.rmtree(folder, ignore_errors=True)


def _hear_by(handler: Any) -> None:
    """PySpark puts one for SIGINT of its own there, which asks the JVM first, and leaves it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _with_java_message(folder: Path) -> Iterator[None]:
    """Raise what the JVM raised with its message, which can be asked for only as long as there is a JVM."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    try:
        yield
    except (CapturedException, Py4JJavaError) as error:
        message = str(error)
        if _NO_SPACE in message:
            raise HarnessError(_no_space(folder)) from None
        raise HarnessError(f"Spark failed: {' '.join(message.splitlines()[:2])}") from None


@contextlib.contextmanager
def _space(folder: Path) -> Iterator[None]:
    """Whatever a full disk ends says so in one sentence, be it Python or the JVM that hears of it."""
    try:
        yield
    except Exception as error:
        # What cannot be written by name is named already.
        if _NO_SPACE not in str(error) or isinstance(error, UsageError):
            raise
        raise HarnessError(_no_space(folder)) from error


def _no_space(folder: Path | str) -> str:
    return (
        f"no space left for what Spark spills to {folder}, or writes beside the ledger; name a roomier folder with "
        "--spill, or make room"
    )


def _folder(spill: Path | None) -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="assay-spark-", dir=spill))
    except OSError as error:
        raise UsageError(f"--spill {spill}: no folder for what spills can be made there: {error.strerror}") from error
    # After it, for what is no disk at all, as /proc, has no room either.
    if shutil.disk_usage(folder).free < LEAST_FREE_SPARK_BYTES:
        folder.rmdir()
        raise HarnessError(_no_space(spill or tempfile.gettempdir()))
    return folder


def _conf(settings: Settings, name: str, folder: Path) -> dict[str, str]:
    local = settings.master.startswith((*_LOCAL, "spark://127.0.0.1:", "spark://localhost:"))
    return {
        **MEASURED,
        # A machine whose own name does not resolve can still talk to itself.
        **({"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"} if local else {}),
        "spark.pyspark.python": sys.executable,
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **settings.conf,
        **_SOUND,
        "spark.driver.memory": settings.memory,
        "spark.master": settings.master,
        "spark.app.name": name,
    }


def _connected(jvm: gateway.Gateway, settings: Settings) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    with _environment(PYSPARK_GATEWAY_PORT=str(jvm.port), PYSPARK_GATEWAY_SECRET=jvm.secret):
        connection = launch_gateway()
    SparkContext._ensure_initialized(gateway=connection)
    try:
        context = SparkContext(conf=SparkConf(), gateway=connection)
        session = SparkSession(context)
        # Otherwise settings of SQL are looked at when the first query is made.
        session._jsparkSession.sessionState()
    except Exception as error:
        if refused := _REFUSED.findall(str(error)):
            raise UsageError(f"--conf, --memory: Spark refuses a value: {refused[-1]}") from None
        raise HarnessError(f"Spark at {settings.master} did not start: {gateway.last_words(jvm.log)}") from error
    context.setLogLevel("ERROR")
    # PySpark takes the interpreter of its workers from the environment, and would find `python3` there.
    context.pythonExec = sys.executable
    return session


@contextlib.contextmanager
def _environment(**names: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end(session: Any) -> None:
    # On the way out of Ctrl-C the JVM may be anywhere; it is closed in any case.
    with contextlib.suppress(Exception):
        session.sparkContext.cancelAllJobs()
    with contextlib.suppress(Exception):
        session.stop()


def _forget() -> None:
    """PySpark keeps the connection of its first JVM in its classes, and would use it for the next session."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        with contextlib.suppress(Exception):
            SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _reachable(master: str) -> None:
    """Fails at once where Spark would try for a minute, and then say it in forty lines."""
    if not _MASTER.fullmatch(master):
        raise UsageError(f"--master {master}: expected local[*], spark://HOST:PORT, yarn or k8s://URL")
    if not master.startswith("spark://"):
        return
    refused = []
    for address in master.removeprefix("spark://").split(","):
        host, colon, port = address.rpartition(":")
        if not (colon and port.isdecimal()):
            raise UsageError(f"--master {master}: expected spark://HOST:PORT")
        try:
            socket.create_connection((host, int(port)), MASTER_CONNECTS_S).close()
        except OSError as error:
            refused.append(f"{address}: {error.strerror or error}")
        else:
            return
    raise UnavailableError(f"--master {master} cannot be reached ({'; '.join(refused)})")


def _await_workers(session: Any, master: str) -> None:
    """Wait for workers: a master without any accepts every job and runs none."""
    if not master.startswith("spark://"):
        return
    end = time.monotonic() + WORKERS_COME_S
    while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > end:
            raise UnavailableError(f"--master {master}: no worker gave this job a process in {WORKERS_COME_S:.0f} s")
        time.sleep(0.1)
