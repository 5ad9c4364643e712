"""Faults at answers: each request, each answer and each phase is drawn, with what brings it about."""

from __future__ import annotations

import random
from functools import cache

import pytest

from assay_conformance.machines import areas, drawing, plan
from assay_conformance.machines.answer_faults import ANSWERS, OF_ANY_LIFE, answers_to
from assay_conformance.machines.areas import Area
from assay_conformance.machines.drawn_faults import DrawnFault, faults_of
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.parameters import Parameters
from assay_conformance.model.fault import AnswerError, Direction, Drop, Inject, OnFrame, Truncate
from assay_conformance.pulsar.outcomes.losses import HEADER_BYTES
from assay_conformance.pulsar.outcomes.requests import ERRORS, REQUESTS, Loss

COUNT, SEED = 2_000, 5


@cache
def _drawn(*commands: str) -> list[tuple[DrawnFault, ...]]:
    strategy = answers_to(*commands) if commands else ANSWERS
    drawn = drawing.values(strategy, COUNT, random.Random(SEED), plan.PlainProvider)
    assert drawn is not None
    return drawn


def _errors(drawn: list[tuple[DrawnFault, ...]]) -> list[str]:
    return [one.action.error for faults in drawn for one in faults if isinstance(one.action, AnswerError)]


def test_every_request_of_any_life_gets_errors_and_loses_answers() -> None:
    refused = {one.command for faults in _drawn() for one in faults if isinstance(one.action, AnswerError)}
    silent = {one.answers or one.command for faults in _drawn() for one in faults if isinstance(one.action, Drop)}
    answers = {one.command: one.command if one.answer == "SUCCESS" else one.answer for one in REQUESTS}
    assert refused == set(OF_ANY_LIFE)
    assert {answers[command] for command in OF_ANY_LIFE} <= silent


def test_every_error_of_the_protocol_is_drawn_and_half_of_what_is_drawn_is_none() -> None:
    errors = _errors(_drawn())
    assert set(errors) == set(ERRORS)
    assert 0.35 < len(errors) / COUNT < 0.65


def test_every_loss_of_an_answer_is_drawn() -> None:
    actions = {type(one.action).__name__ for faults in _drawn("SUBSCRIBE") for one in faults}
    assert {"Drop", "Cut", "Truncate", "Delay", "Duplicate", "Inject", "AnswerError"} == actions
    assert len(Loss) == 7


def test_a_request_of_a_handle_that_is_back_is_one_of_its_second_session() -> None:
    behind_a_loss = [faults for faults in _drawn("SUBSCRIBE") if faults[0].acts[:1] and len(faults) > 1]
    behind_a_loss = [faults for faults in behind_a_loss if not isinstance(faults[0].action, Inject)]
    assert behind_a_loss
    assert {one.session for faults in behind_a_loss for one in faults[1:]} == {1}


def test_a_topic_is_unloaded_for_a_handle_to_be_sent_away() -> None:
    acts = {act.do for faults in _drawn("PRODUCER") for one in faults for act in one.acts}
    assert {Operation.UNLOAD, Operation.CLOSE_PRODUCER, Operation.OPEN_PRODUCER} <= acts


def test_an_answer_of_another_kind_comes_in_place_of_the_right_one() -> None:
    others = [faults for faults in _drawn("SEEK") if any(isinstance(one.action, Inject) for one in faults)]
    assert {type(faults[-1].action) for faults in others} == {Drop}
    assert {faults[-1].answers for faults in others} == {"SEEK"}


@pytest.mark.parametrize("command", ["CLOSE_CONSUMER", "CLOSE_PRODUCER", "SEEK"])
def test_an_error_answers_what_the_client_asks(command: str) -> None:
    (fault,) = faults_of(DrawnFault(command, AnswerError("MetadataError")))
    assert isinstance(fault.trigger, OnFrame)
    assert fault.trigger.direction is Direction.TO_BROKER


def test_what_brings_a_fault_about_comes_first_in_its_life() -> None:
    (share,) = areas.shares(Area.MIXED)
    faults = next(faults for faults in _drawn("UNSUBSCRIBE") if any(one.acts for one in faults))
    case = share.life([], [faults], Parameters(), None)
    assert "unsubscribe" in [step.verb for step in case.steps]


def test_a_frame_lost_inside_has_no_whole_command() -> None:
    cut = {one.action for faults in _drawn("LOOKUP") for one in faults if isinstance(one.action, Truncate)}
    assert cut == {Truncate(HEADER_BYTES)}
