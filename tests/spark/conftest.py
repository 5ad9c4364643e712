"""One Spark session for all tests: starting it costs more than any of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.profiles import NIGHTLY

from assay_fixtures.programs import Kept
from assay_reports.spark.session import Settings, spark_session

# Every query of a test is new, and its rows are few: what a good compiler makes of it is never worth its time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""To compile the Java of each query takes a quarter of all processor time; the long form does it as users have it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where there are several processes, what shares the session runs in one, and the rest beside it."""
    for item in items:
        if config.pluginmanager.hasplugin("xdist") and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", **({} if NIGHTLY else _INTERPRETED)}
    interrupt = signal.getsignal(signal.SIGINT)
    with spark_session(Kept(), Settings(master="local[2]", conf=conf, memory="1g")) as session:
        # PySpark's own handler stays until the session ends, and other tests in between look at what Ctrl-C does.
        signal.signal(signal.SIGINT, interrupt)
        yield session
