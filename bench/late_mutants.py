"""Mutants of the reference client that break a time bound, in the Cases that catch them: does one pass on a machine
that is late?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.end_to_end.running import mutant
from tests.exam.kill_matrix import Kill

from assay_conformance.model.verdict import Verdict
from assay_reports.verdicts import Verdicts

CASES_EACH: Final = 2

LATE: Final[Sequence[str]] = (
    "send-timeout-late",
    "ack-flush-late",
    "nack-late",
    "batch-delay-late",
    "pong-late",
    "send-never-times-out",
    "ack-timer-rearmed",
    "nack-timer-rearmed",
    "new-key-restarts-delay",
    "nack-early",
    "nack-delay-unclamped",
    "nack-backoff-never-grows",
    "nack-backoff-unbounded",
    "backoff-never-grows",
    "backoff-never-resets",
    "idle-batch-times-out",
    "zero-group-time-waits",
    "batch-ignores-delay",
    "flush-waits-for-batch-delay",
    "flush-returns-at-once",
    "delayed-overtakes-batch",
    "delayed-joins-batch",
    "full-queue-stops-batch-timer",
    "batching-window-of-one-delay",
    "batching-window-too-long",
    "batching-window-never-ends",
    "ack-timeout-late",
    "ack-timeout-early",
    "times-out-prefetched",
    "retry-letter-without-delay",
)
"""Thirty of them, those that miss a bound by the least first."""


def caught_in(kill: Kill) -> Mapping[str, Sequence[str]]:
    """Return the first few Cases that catch a mutant, each with the requirements that fail in it."""
    caught = {case: failed for case, failed in sorted(kill.failed.items()) if failed}
    return dict(list(caught.items())[:CASES_EACH])


def passed(caught: Mapping[str, Sequence[str]], verdicts: Verdicts) -> bool:
    """Return whether nothing that catches the mutant failed, and nothing was left open."""
    wanted = {(requirement, case) for case, failed in caught.items() for requirement in failed}
    cells = [cell.verdict for cell in verdicts.cells if (cell.requirement, cell.case) in wanted]
    return bool(cells) and all(verdict is Verdict.PASS for verdict in cells)


def manifest_of(one: str, folder: Path) -> str:
    """Return the path of a new agent.toml of this mutant."""
    return str(mutant(folder, one))
