"""Whole runs that are killed at a drawn moment: what is cleaned is all that was made."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir

import pytest
from tests.end_to_end.running import command_line

from assay_faults.cleanup_journal import MARKER
from assay_faults.processes.identity import marked
from assay_fixtures.cache import CACHE_VARIABLE, cache_folder
from assay_fixtures.leftovers import ledger_folder

BEGINS_WITHIN_S = 180
SOONER = 0.7


def assert_nothing_is_left(
    run_words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, seed: int, within_s: float
) -> None:
    """A run of these words, killed at some time within `within_s` of its first entry in the ledger, and cleaned. One
    that was done by then is run again, and killed sooner."""
    _cache_of_its_own(tmp_path, monkeypatch)
    command = [*command_line(*run_words), "--run-dir", str(tmp_path / "runs")]
    after_s = random.Random(seed).uniform(0.0, within_s)
    while (ledger := _killed(command, after_s)) is None:
        after_s *= SOONER

    cleaned = subprocess.run(command_line("tools", "clean"), capture_output=True, text=True, check=False)

    assert cleaned.returncode == 0, cleaned.stdout
    assert marked(MARKER, f"{ledger}-") == {}
    assert ledger not in Path("/proc/self/mountinfo").read_text()
    assert not list(Path(gettempdir()).glob(f"{ledger}-*"))
    assert _ledgers() == set()


def _killed(command: Sequence[str], after_s: float) -> str | None:
    """The ledger of a run that was killed so long after its first entry; None when it had ended before."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until = time.monotonic() + BEGINS_WITHIN_S
        while not (begun := _ledgers()):
            assert run.poll() is None
            assert time.monotonic() < until
        try:
            run.wait(after_s)
        except subprocess.TimeoutExpired:
            run.kill()
            (ledger,) = begun
            return ledger
    assert _ledgers() == set()
    return None


def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed, and no ledgers but ours."""
    installed = cache_folder() / "tools"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tools").symlink_to(installed)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def _ledgers() -> set[str]:
    return {path.stem for path in ledger_folder().glob("*.jsonl")}
