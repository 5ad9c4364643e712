"""The tables of outcomes say something of everything that they are about."""

from __future__ import annotations

from assay_conformance.catalogue import load
from assay_conformance.machines.drawn_faults import DIRECTIONS
from assay_conformance.model import agent
from assay_conformance.pulsar.cases.robustness.answers.cells import covering
from assay_conformance.pulsar.outcomes.ends import HANG, REFUSED
from assay_conformance.pulsar.outcomes.requests import REQUESTS, Phase, cells
from assay_conformance.pulsar.outcomes.rules import RULES, rule_of
from assay_conformance.pulsar.outcomes.verbs import OF_VERB, VERBS

_ENDS_THE_AGENT = {"hello", "clock", "crash", "exit"}
_RESERVED = {"begin_txn", "commit_txn", "abort_txn", "hook"}


def test_every_verb_of_the_agent_protocol_has_an_outcome() -> None:
    verbs = {str(one.__struct_config__.tag) for one in agent.Command.__args__}
    assert verbs - _ENDS_THE_AGENT - _RESERVED == set(OF_VERB)


def test_every_outcome_has_a_source() -> None:
    assert [one.verb for one in VERBS if not one.sources] == []


def test_what_judges_an_outcome_is_in_the_catalogue() -> None:
    named = {id for one in VERBS for id in (one.success_by, one.failure_by) if id}
    assert named - set(load().requirements) == set()


def test_most_cells_of_requests_and_their_answers_have_a_rule() -> None:
    everything = list(cells())
    assert sum(rule_of(cell) is not None for cell in everything) >= 0.7 * len(everything)


def test_no_rule_of_answers_is_hidden_behind_others() -> None:
    decided = {rule_of(cell) for cell in cells()}
    assert [rule for rule in RULES if rule not in decided] == []


def test_every_rule_of_answers_has_a_source_and_a_requirement_that_judges_it() -> None:
    assert [rule for rule in RULES if not rule.sources] == []
    assert {rule.judged_by for rule in RULES} - set(load().requirements) == set()


def test_a_request_is_in_every_phase_or_says_why_it_is_not() -> None:
    assert [one.command for one in REQUESTS if set(one.phases) != set(Phase) and not one.because] == []


def test_the_covering_few_meet_each_request_in_each_phase_and_with_each_end() -> None:
    few = covering()
    assert len(few) == len(set(few)) < 100
    ours = [cell for cell in cells() if (rule := rule_of(cell)) is not None and rule.judged_by in (HANG, REFUSED)]
    phases = {(cell.request, cell.phase) for cell in ours}
    assert phases == {(cell.request, cell.phase) for cell in few if cell in ours}


def test_generators_aim_at_every_request_and_answer_of_the_table() -> None:
    reached = [one for one in REQUESTS if one.phases]
    assert {word for one in reached for word in (one.command, one.answer)} - set(DIRECTIONS) == set()
