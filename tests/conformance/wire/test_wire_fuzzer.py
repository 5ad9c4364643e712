"""The fuzzer of the wire can fail, and what it measures with does not itself grow the process."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fuzz import wire as fuzzer


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`main` runs 400 inputs, half of them measured, in stretches of 50."""
    monkeypatch.setattr(sys, "argv", ["wire.py", "--inputs", "400", "--seed", "1"])
    monkeypatch.setattr(fuzzer, "STRETCH", 50)
    monkeypatch.setattr(fuzzer, "SAMPLE", 2)
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("runs")
def test_tracing_starts_once_a_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    start = tracemalloc.start
    monkeypatch.setattr(tracemalloc, "start", lambda: calls.update(["start"]) or start())
    assert fuzzer.main() == 0
    assert calls["start"] == 4


@pytest.mark.usefixtures("runs")
def test_allocation_beyond_the_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzer, "decompress", lambda *_: bytes(1024 * 1024))
    with pytest.raises(AssertionError, match="allocated 1"):
        fuzzer.main()


@pytest.mark.usefixtures("runs")
def test_other_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bytes:
        raise KeyError

    monkeypatch.setattr(fuzzer, "decompress", fail)
    with pytest.raises(KeyError):
        fuzzer.main()


@pytest.mark.usefixtures("runs")
def test_growing_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes_mib = iter(range(0, 1000, 30))
    monkeypatch.setattr(fuzzer, "resident_mib", lambda: next(sizes_mib))
    with pytest.raises(AssertionError, match="grew from 0 to 120 MiB in 8 inputs, by 30 in the last 2"):
        fuzzer.main()
