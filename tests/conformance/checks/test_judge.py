"""Judging one attempt: whose trouble is whose, and that every finding says which attempt it is of."""

from __future__ import annotations

from assay_conformance import catalogue
from assay_conformance.checks import CHECKS
from assay_conformance.checks.base import Check, on
from assay_conformance.checks.judge import judge
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Judgement, Verdict

CATALOGUE = catalogue.load()
ORDER, IDS = RequirementId("resend.keeps-queue-order"), RequirementId("ordering.sequence-ids-step-by-one")
CLIENT = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset(CATALOGUE.capabilities))
CASE = Case(id="test/case", title="t", requirements=(ORDER, IDS), steps=())


def _story(*sequence_ids: int) -> list[Event]:
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    return story.done()


def _judged(events: list[Event], attempt: int = 1, **checks: type[Check]) -> dict[str, Judgement]:
    told = judge(events, CASE, CLIENT, CATALOGUE, {**CHECKS, **{c.requirement: c for c in checks.values()}}, attempt)
    return {judgement.requirement: judgement for judgement in told}


class Raises(Check):
    requirement = ORDER

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        raise KeyError(event.command)


def test_a_check_that_crashes_is_a_harness_error_of_its_requirement() -> None:
    told = _judged(_story(0, 1), broken=Raises)[ORDER]
    assert (told.verdict, told.reason) == (Verdict.HARNESS_ERROR, "its check crashed: KeyError: 'SEND'")


def test_the_other_requirements_are_judged_all_the_same() -> None:
    assert _judged(_story(0, 0), broken=Raises)[IDS].verdict is Verdict.FAIL


def test_findings_name_the_attempt_they_are_of() -> None:
    assert {finding.attempt for finding in _judged(_story(0, 0), attempt=2)[IDS].findings} == {2}


def test_a_breach_counts_as_exercised() -> None:
    assert _judged(_story(0, 0))[IDS].exercised >= 1


def test_a_history_without_an_end_is_a_harness_error() -> None:
    assert {j.verdict for j in _judged(_story(0, 1)[:-1]).values()} == {Verdict.HARNESS_ERROR}
