"""Directed Cases under harm: what goes wrong is something that the Case may come to."""

from __future__ import annotations

from assay_conformance.cases.build import Schedule
from assay_conformance.machines.cases_with_faults import with_faults
from assay_conformance.machines.drawn_faults import DrawnFault
from assay_conformance.model.case import Case
from assay_conformance.model.fault import Cut, Direction, Drop, FieldValue, OnFrame, Rewrite


def _commands(case: Case, *harms: DrawnFault) -> list[str]:
    triggers = (fault.trigger for fault in with_faults(case, harms).faults)
    return [trigger.command for trigger in triggers if isinstance(trigger, OnFrame)]


def _producer_alone() -> Case:
    plan = Schedule()
    plan.send(plan.producer(plan.client()))
    return plan.case("test/producer", "One producer", ())


def _both() -> Case:
    plan = Schedule()
    client = plan.client()
    plan.consumer(client)
    plan.send(plan.producer(client))
    return plan.case("test/both", "A producer and a consumer", ())


def test_what_would_happen_to_a_message_happens_to_a_receipt_where_nobody_consumes() -> None:
    assert _commands(_producer_alone(), DrawnFault("MESSAGE", Drop()), DrawnFault("LOOKUP", Cut())) == [
        "SEND_RECEIPT",
        "LOOKUP",
    ]


def test_frames_that_occur_are_left_as_they_were_drawn() -> None:
    assert _commands(_both(), DrawnFault("MESSAGE", Drop()), DrawnFault("SEND", Cut())) == ["MESSAGE", "SEND"]


def test_an_action_that_fits_one_kind_of_frame_stays_with_it() -> None:
    fields: dict[str, FieldValue] = {"redelivery_count": 3}
    assert _commands(_producer_alone(), DrawnFault("MESSAGE", Rewrite(fields=fields))) == ["MESSAGE"]


def test_what_answers_another_request_there_is_not_asked_for_by_its_request() -> None:
    harm = DrawnFault("SUCCESS", Drop(), answers="SUBSCRIBE")
    (trigger,) = (fault.trigger for fault in with_faults(_producer_alone(), [harm]).faults)
    assert trigger == OnFrame(command="PRODUCER_SUCCESS", direction=Direction.TO_CLIENT)
