"""A requirement pack as somebody else would write one: catalogue text, a check, a Case, and the `Pack` of them.

`toy_pack-1.0.dist-info` beside it announces it, as an installed distribution would.
"""

from __future__ import annotations

from assay_conformance import catalogue
from assay_conformance.cases.build import Schedule
from assay_conformance.checks.base import Check, on
from assay_conformance.model.case import Case
from assay_conformance.model.event import Stored
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.packs import Pack

CATALOGUE = """
["toy.keeps-messages-small"]
row = "TOY-001"
title = "Entries stay small"
level = "SHOULD"
side = "client"
status = "documented"
disposition = "tested"
clause = "An entry holds at most a hundred bytes."
why = "The toy box is small."
capabilities = ["producer"]
sources = [{ name = "The toy house's rules" }]
"""

SMALL_BYTES = 100


class KeepsMessagesSmall(Check):
    requirement = RequirementId("toy.keeps-messages-small")

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self.exercise(event)
        if event.size > SMALL_BYTES:
            self.breach("large", f"an entry of {event.size} bytes was stored, expected at most {SMALL_BYTES}", event)


def small_and_large() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client())
    plan.send(producer, 1, size=10)
    plan.send(producer, 1, size=1_000)
    plan.wait_ops()
    return plan.case("toy/small-and-large", "A small message and a large one", (KeepsMessagesSmall.requirement,))


PACK = Pack(
    prefix="toy",
    catalogue=catalogue.parse(
        {"toy.toml": CATALOGUE, "chapters.toml": '[toy]\ntitle = "Toys"\n'}, borrowed=catalogue.load().capabilities
    ),
    checks={KeepsMessagesSmall.requirement: KeepsMessagesSmall},
    cases=(small_and_large(),),
)
