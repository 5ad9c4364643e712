"""What a script calls things: its clients, producers and consumers, and the texts that are too long for a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_reports.export.values import Text, literal

ROLES: Final = {"open_client": "client", "open_producer": "producer", "open_consumer": "consumer"}
LONG: Final = 80

CALLS_OF_THE_CLIENT: Final = {"open_client": "Client", "open_producer": "create_producer", "open_consumer": "subscribe"}


class Handles:
    """The variables of what a Case opens, by the numbers that its steps save."""

    def __init__(self, case: Case) -> None:
        self._count = Counter(ROLES[step.verb] for step in case.steps if step.verb in ROLES)
        self._so_far = Counter[str]()
        self._names: dict[int, str] = {}
        self.asked_for = Counter[str]()
        """How often calls name each."""

    def opened(self, number: int | None, role: str) -> str:
        self._so_far[role] += 1
        name = role if self._count[role] == 1 else f"{role}_{self._so_far[role]}"
        if number is not None:
            self._names[number] = name
        return name

    def asked(self, number: Any) -> str:
        """Return the variable; UsageError where nothing was opened by this number."""
        if number not in self._names:
            raise UsageError(f"expected the number of what an earlier step opens, came {number}")
        self.asked_for[self._names[number]] += 1
        return self._names[number]

    def named(self, role: str, number: int) -> str:
        """Return how a sentence names a handle: by its variable, or by its role where the script needs no variable."""
        name = self._names.get(number, "")
        return name if name.startswith(role) and self.asked_for[name] else f"the {role or 'handle'}"


class Longs:
    """Texts that are too long for a line of the schedule, each once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def out_of(self, value: Any) -> Any:
        """Return the value with a name in the place of each long text."""
        if isinstance(value, str) and len(value) > LONG:
            return Text(self._names.setdefault(value, f"TEXT_{len(self._names) + 1}"))
        if isinstance(value, Mapping):
            return {key: self.out_of(one) for key, one in value.items()}
        return [self.out_of(one) for one in value] if isinstance(value, list | tuple) else value

    def lines(self) -> list[str]:
        return [f"{name} = {literal(text)}" for text, name in self._names.items()]


def without_the_suite(sentence: str, handles: Handles) -> str:
    """Return a finding's sentence in the words of the script."""
    if signal := re.search(r"was killed by signal (\d+)", sentence):
        # A process that was lost is the suite's own: what it is called, and where its log is, means nothing elsewhere.
        return f"the process that runs the client was killed by signal {signal[1][:3]}"
    sentence = _HANDLE.sub(lambda found: handles.named(found[1], int(found[2])), sentence)
    sentence = _OPENING.sub(
        lambda found: f"{CALLS_OF_THE_CLIENT[found[1]]} of {handles.named('', int(found[2]))}", sentence
    )
    for pattern, instead in _OTHERS:
        sentence = pattern.sub(instead, sentence)
    return sentence


_HANDLE: Final = re.compile(r"\b(client|producer|consumer) (\d{1,9})\b(?: \([^()]*\))?")
_OPENING: Final = re.compile(r"\b(open_client|open_producer|open_consumer) of handle (\d{1,9})\b")
_OTHERS: Final = (
    (re.compile(r" \(operation \d+\)"), ""),
    (re.compile(r"( of)? assay-\d[\d-]*"), ""),
    (re.compile(r"\bended unknown\b"), "ended with an error"),
    (re.compile(r"\bthe Case\b"), "the schedule"),
)
