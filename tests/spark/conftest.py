"""One Spark session for all tests: starting it costs more than any of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from assay_reports.spark.session import Settings, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
    with spark_session(Settings(master="local[2]", conf=conf, memory="1g")) as session:
        yield session
