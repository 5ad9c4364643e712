"""What a client lacks is `unsupported`, and costs it nothing else: tried with the reference client, less one thing.

A configuration key that is not declared is never set, and a word that is not declared neither; the Cases that need a
capability that is not declared are not asked. Whatever is left passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec
import pytest
from tests.exam.test_both_ways import CASES, PACK
from tests.profiles import NIGHTLY

from assay_conformance.model.case import Case, ConfigValue
from assay_conformance.model.facts import ClientFacts
from assay_fixtures.reference.probe import FACTS, ReferenceTrial
from assay_fixtures.runner.selection import missing

FREE_TEXT = ("consumer_name", "dead_letter_subscription", "dead_letter_topic", "producer_name", "retry_letter_topic")
"""Keys whose words are names that a Case chooses."""

MOST_CASES = None if NIGHTLY else 12
"""Of those that use what is lacking."""


def settings(case: Case) -> Iterator[tuple[str, ConfigValue]]:
    """Every key that a Case sets, and to what."""
    config = case.config
    configs = (config.client, config.producer, config.consumer, *(step.args.get("config", {}) for step in case.steps))
    return (setting for one in configs for setting in one.items())


def words() -> list[tuple[str, str]]:
    found = {(key, value) for case in CASES.values() for key, value in settings(case) if isinstance(value, str)}
    return sorted((key, word) for key, word in found if key not in FREE_TEXT)


def lost(facts: ClientFacts, cases: Iterable[Case]) -> dict[tuple[str, str], str]:
    """(Case, requirement) -> what came of it besides a pass and `unsupported`."""
    trial = ReferenceTrial(facts=facts)
    asked = (case for case in cases if not missing(case, facts, PACK.catalogue))
    return {
        (case.id, judgement.requirement): f"{judgement.verdict.value}: {judgement.reason}"
        for case in islice(asked, MOST_CASES)
        for judgement in trial.in_virtual_time(case).judgements
        if judgement.verdict.value not in ("pass", "info", "unsupported")
    }


@pytest.mark.few(25)
@pytest.mark.parametrize("key", sorted(FACTS.settable))
def test_a_client_without_a_configuration_key_loses_nothing_else(key: str) -> None:
    facts = msgspec.structs.replace(FACTS, settable=FACTS.settable - {key})
    assert lost(facts, (case for case in CASES.values() if key in dict(settings(case)))) == {}


@pytest.mark.parametrize("word", words(), ids="-".join)
def test_a_client_without_a_word_loses_nothing_else(word: tuple[str, str]) -> None:
    key, lacking = word
    others = tuple(other for of, other in words() if of == key and other != lacking)
    facts = msgspec.structs.replace(FACTS, words={key: others})
    assert lost(facts, (case for case in CASES.values() if word in settings(case))) == {}


@pytest.mark.parametrize("capability", sorted(FACTS.capabilities))
def test_a_client_without_a_capability_loses_nothing_else(capability: str) -> None:
    def uses(case: Case) -> bool:
        asked = (PACK.catalogue.requirements[requirement].capabilities for requirement in case.requirements)
        return capability in case.capabilities or any(capability in one for one in asked)

    facts = msgspec.structs.replace(FACTS, capabilities=FACTS.capabilities - {capability})
    assert lost(facts, filter(uses, CASES.values())) == {}
