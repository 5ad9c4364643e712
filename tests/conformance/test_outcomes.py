"""The tables of outcomes say something of everything that they are about."""

from __future__ import annotations

from assay_conformance.catalogue import load
from assay_conformance.model import agent
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
