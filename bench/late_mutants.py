"""Mutants of the reference client that break a time bound, in the Cases that catch them: does one pass on a machine
that is late?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.end_to_end.running import mutant
from tests.exam.kill_matrix import Kill

from assay_conformance.client import Mutation
from assay_conformance.model.verdict import Verdict
from assay_reports.verdicts import Verdicts

CASES_EACH: Final = 2

LATE: Final[Sequence[Mutation]] = (
    Mutation.SEND_TIMEOUT_LATE,
    Mutation.ACK_FLUSH_LATE,
    Mutation.NACK_LATE,
    Mutation.BATCH_DELAY_LATE,
    Mutation.PONG_LATE,
    Mutation.NEVER_TIMES_OUT,
    Mutation.ACK_TIMER_REARMED,
    Mutation.NACK_TIMER_REARMED,
    Mutation.NEW_KEY_RESTARTS_DELAY,
    Mutation.NACK_EARLY,
    Mutation.NACK_DELAY_UNCLAMPED,
    Mutation.NACK_BACKOFF_STAYS,
    Mutation.NACK_BACKOFF_UNBOUNDED,
    Mutation.BACKOFF_STAYS,
    Mutation.BACKOFF_NEVER_RESETS,
    Mutation.IDLE_BATCH_TIMES_OUT,
    Mutation.ZERO_INTERVAL_WAITS,
    Mutation.BATCH_DELAY_UNREAD,
    Mutation.FLUSH_LEAVES_BATCH,
    Mutation.FLUSH_RETURNS_AT_ONCE,
    Mutation.DELAYED_OVERTAKES_BATCH,
    Mutation.DELAYED_JOINS_BATCH,
    Mutation.FULL_QUEUE_STOPS_BATCH_TIMER,
    Mutation.WINDOW_OF_ONE_DELAY,
    Mutation.WINDOW_OVERSTAYS,
    Mutation.WINDOW_NEVER_ENDS,
    Mutation.ACK_TIMEOUT_LATE,
    Mutation.ACK_TIMEOUT_EARLY,
    Mutation.TIMES_OUT_PREFETCHED,
    Mutation.RETRY_LETTER_UNDELAYED,
)
"""Thirty of them, those that miss a bound by the least first."""


def caught_in(kill: Kill) -> Mapping[str, Sequence[str]]:
    """Case -> the requirements that fail in it: the first few Cases that catch a mutant."""
    caught = {case: failed for case, failed in sorted(kill.failed.items()) if failed}
    return dict(list(caught.items())[:CASES_EACH])


def passed(caught: Mapping[str, Sequence[str]], verdicts: Verdicts) -> bool:
    """Nothing that catches the mutant failed, and nothing was left open."""
    wanted = {(requirement, case) for case, failed in caught.items() for requirement in failed}
    cells = [cell.verdict for cell in verdicts.cells if (cell.requirement, cell.case) in wanted]
    return bool(cells) and all(verdict is Verdict.PASS for verdict in cells)


def manifest_of(one: Mutation, folder: Path) -> str:
    """An agent.toml of its own."""
    return str(mutant(folder, one.value))
