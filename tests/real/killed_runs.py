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

from assay_faults.ledger import MARKER
from assay_faults.processes.identity import marked
from assay_fixtures.cache import CACHE_VARIABLE, cache_folder
from assay_fixtures.leftovers import ledger_folder

BEGINS_WITHIN_S = 180


def assert_nothing_is_left(
    run_words: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, seed: int, within_s: float
) -> None:
    """A run of these words, killed at some time within `within_s` of its first entry in the ledger, and cleaned."""
    _cache_of_its_own(tmp_path, monkeypatch)
    command = [*command_line(*run_words), "--run-dir", str(tmp_path / "runs")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        until = time.monotonic() + BEGINS_WITHIN_S
        while not (begun := _ledgers()):
            assert run.poll() is None
            assert time.monotonic() < until
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(random.Random(seed).uniform(0.0, within_s))
        run.kill()
    (ledger,) = begun

    cleaned = subprocess.run(command_line("tools", "clean"), capture_output=True, text=True, check=False)

    assert cleaned.returncode == 0, cleaned.stdout
    assert marked(MARKER, f"{ledger}-") == {}
    assert ledger not in Path("/proc/self/mountinfo").read_text()
    assert not list(Path(gettempdir()).glob(f"{ledger}-*"))
    assert _ledgers() == set()


def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed, and no ledgers but ours."""
    installed = cache_folder() / "tools"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "tools").symlink_to(installed)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


def _ledgers() -> set[str]:
    return {path.stem for path in ledger_folder().glob("*.jsonl")}
