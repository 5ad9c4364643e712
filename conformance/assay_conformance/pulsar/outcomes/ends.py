"""How a call can end by what became of the answer to its request, and what a rule of that is."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from assay_conformance.pulsar.outcomes.requests import Answer, Cell, Phase


class End(StrEnum):
    """`time-out`: that of operations, or of sends."""

    AT_ONCE = "fails with that answer, and is not asked again"
    FAILS = "fails by its time-out; it may be asked again until then"
    FAILS_OR_AGAIN = "fails, or is asked again; success needs a good answer"
    RETRIED = "is asked again, and succeeds by the next good answer"
    RETURNS = "registers again, after a pause, as often as it takes"
    RETURNS_OR_TELLS = "registers again, or the next call on it fails"
    GIVES_UP = "registers no more; what is pending fails at once"
    FAILS_PENDING = "registers again; what is pending fails at once"
    ENDS = "ends with its answer or its connection, well or not"
    WITH_CLOSE = "ends with its answer or with the close; nothing of it stays registered"
    AS_ANSWERED = "ends as answered, or as if that were lost; what is open comes back"
    GOES_ON = "ends as without it"
    OBSERVED = "observed"


HANG: Final = "robustness.calls-do-not-hang"
SUCCESS: Final = "robustness.success-needs-answer"
REFUSED: Final = "robustness.refusal-ends-call"


class Rule(NamedTuple):
    """`requests` of () are all. `judged_by`: the requirement that this end is judged by, beside the two that hold for
    every cell."""

    requests: tuple[str, ...]
    phases: tuple[Phase, ...]
    answers: tuple[Answer, ...]
    end: End
    judged_by: str
    sources: tuple[str, ...]

    def fits(self, cell: Cell) -> bool:
        """Return whether it says something of this cell."""
        named = not self.requests or cell.request.command in self.requests
        return named and cell.phase in self.phases and cell.answer in self.answers
