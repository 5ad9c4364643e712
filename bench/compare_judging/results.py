"""What one side says, as values: the lines of `one_side.py`."""

from __future__ import annotations

import msgspec

Found = tuple[str, tuple[int, ...]]
"""A finding: its code, and the `seq` of the events that contradict each other."""


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one requirement in one history. `subjects`: the `seq` of the events that exercise it; `grades`: how many
    findings of each evidence grade; `not_judged`: how many subjects of which too little was known, by reason."""

    verdict: str
    exercised: int = 0
    subjects: tuple[int, ...] = ()
    findings: tuple[Found, ...] = ()
    grades: dict[str, int] = {}
    reason: str = ""
    not_judged: dict[str, int] = {}


class Judged(msgspec.Struct, frozen=True, omit_defaults=True, tag="judged", tag_field="type"):
    """One history of a part of the corpus. `trouble`: why it could not be judged at all."""

    part: str
    history: str
    events: int = 0
    cpu_s: float = 0.0
    said: dict[str, Said] = {}
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"{self.part}:{self.history}"


class End(msgspec.Struct, frozen=True, tag="end", tag_field="type"):
    """All of a part has been judged. `peak_mb`: of the process, up to here."""

    part: str
    peak_mb: int


line = msgspec.json.Decoder(Judged | End)
"""Decodes one line of `one_side.py`."""
