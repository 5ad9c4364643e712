"""A requirement pack with a Case that fails at once, and one beside it that never ends by itself."""

from __future__ import annotations

from assay_conformance import catalogue
from assay_conformance.cases.build import Schedule
from assay_conformance.checks.base import Check, on
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Completion
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.packs import Pack

ENTRY = """
["endless.{word}"]
row = "END-{number:03}"
title = "Ends"
level = "MUST"
side = "client"
status = "documented"
disposition = "tested"
clause = "It ends."
sources = [{{ name = "This file" }}]
"""

WORDS = ("fails", "lasts")
A_DAY_MS = 24 * 3_600_000


class Ends(Check):
    """Breaks in the Case that fails."""

    @on(Completion, "open_client")
    def opened(self, event: Completion) -> None:
        self.exercise(event)
        if self.view.case.id == "endless/fails":
            self.breach("failed", "it was told to", event)


def _case(word: str) -> Case:
    plan = Schedule()
    plan.client()
    plan.wait_ops()
    if word == "lasts":
        plan.wait_ms(A_DAY_MS)
    limits = Limits(quiet_ms=1, case_ms=2 * A_DAY_MS if word == "lasts" else 30_000)
    return plan.case(f"endless/{word}", f"It {word}", (RequirementId(f"endless.{word}"),), limits=limits)


PACK = Pack(
    prefix="endless",
    catalogue=catalogue.parse(
        {
            "endless.toml": "".join(ENTRY.format(word=word, number=number) for number, word in enumerate(WORDS)),
            "chapters.toml": '[endless]\ntitle = "Endless"\n',
        }
    ),
    checks={
        RequirementId(f"endless.{word}"): type(word.title(), (Ends,), {"requirement": RequirementId(f"endless.{word}")})
        for word in WORDS
    },
    cases=tuple(_case(word) for word in WORDS),
)
