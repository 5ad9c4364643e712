"""A requirement pack with one requirement and one Case for each verdict, so that a test sees what becomes of each."""

from __future__ import annotations

from assay_conformance import catalogue
from assay_conformance.cases.build import Schedule
from assay_conformance.checks.base import Check, on
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.event import Completion
from assay_conformance.model.fault import Direction, Drop, Fault, OnFrame
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.packs import Pack

WORDS = ("pass", "fail", "warn", "untestable", "inconclusive", "harness-error", "invalid", "unsupported", "aside")

ENTRY = """
["told.{word}"]
row = "TLD-{number:03}"
title = "Comes to {word}"
level = "{level}"
side = "client"
status = "documented"
disposition = "tested"
clause = "The verdict is {word}."
capabilities = {capabilities}
sources = [{{ name = "This file" }}]
"""


class Told(Check):
    """Looks at its own Case alone, and says there what its requirement is called."""

    word: str
    cases: tuple[str, ...]

    @on(Completion, "open_client")
    def opened(self, event: Completion) -> None:
        if self.view.case.id not in self.cases or self.word == "untestable":
            return
        if self.word == "harness-error":
            raise ZeroDivisionError("told to")
        self.exercise(event)
        if self.word in ("fail", "warn", "aside"):
            self.breach(f"told-{self.word}", f"this is a {self.word}", event)
        if self.word == "inconclusive":
            self.undecided("nobody knows")


def _check(word: str) -> type[Check]:
    # What is broken aside shows in the Case of another requirement.
    case = "told/pass" if word == "aside" else f"told/{word}"
    return type(f"Told{word.title()}", (Told,), {"requirement": _id(word), "word": word, "cases": (case,)})


def _id(word: str) -> RequirementId:
    return RequirementId(f"told.{word}")


def _case(word: str) -> Case:
    plan = Schedule()
    plan.client()
    plan.wait_ops()
    never = Fault(trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER), action=Drop())
    return plan.case(
        f"told/{word}",
        f"Comes to {word}",
        (_id(word),),
        faults=(never,) if word == "invalid" else (),
        limits=Limits(operation_ms=1_000, quiet_ms=1),
    )


def _catalogue() -> str:
    return "".join(
        ENTRY.format(
            word=word,
            number=number,
            level="SHOULD" if word == "warn" else "MUST",
            capabilities='["told/flies"]' if word == "unsupported" else "[]",
        )
        for number, word in enumerate(WORDS)
    )


PACK = Pack(
    prefix="told",
    catalogue=catalogue.parse(
        {
            "told.toml": _catalogue(),
            "chapters.toml": '[told]\ntitle = "Told"\n',
            "capabilities.toml": '["told/flies"]\nmeaning = "what no client of ours does"\n',
        }
    ),
    checks={_id(word): _check(word) for word in WORDS},
    cases=tuple(_case(word) for word in WORDS if word != "aside"),
)
