"""What a kind of life is there for shows in its lives: an honest client passes all of them, a mutant fails in some."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fuzz.lives import trial
from tests.exam.test_both_ways import failed_in, named

from assay_conformance.broker import BrokerMutation
from assay_conformance.client import Mutation
from assay_conformance.machines import areas, plan
from assay_conformance.machines.kinds import KINDS

LIVES, SEED = 25, 1

SHOWN = (
    ("finds its topic full", Mutation.QUOTA_KEEPS_PENDING),
    ("leaves without receipts", Mutation.PENDING_OUTLIVES_CLOSE),
    ("waits for its turn", Mutation.WAITS_NO_LONGER_THAN_OTHERS),
    ("has one name of many", BrokerMutation.DEDUP_WRITES_EVERY_NAME),
    ("dies with what it sends", Mutation.IGNORES_LAST_SEQUENCE_ID),
    ("dies with what it has", BrokerMutation.RESUBSCRIBE_STARTS_OVER),
    ("has little memory", Mutation.MEMORY_PER_PRODUCER),
    ("is told limits that differ", Mutation.LIMIT_OF_LAST_CONNECTION),
    ("fills a broker's buffer", BrokerMutation.READS_ON_FULL_BUFFER),
    ("refuses at a rate", BrokerMutation.REDELIVERY_IS_FREE),
    ("refuses at a rate", BrokerMutation.REPLAY_HAS_OWN_RATE),
    ("publishes at a rate", BrokerMutation.BROKERS_PUBLISH_RATE_IS_IGNORED),
    ("publishes at a rate", BrokerMutation.PUBLISH_THROTTLE_ANSWERS_ERROR),
    ("reads at once or never", BrokerMutation.TRANSIENT_WAITS_FOR_RATE),
)


@pytest.mark.parametrize(("kind", "mutant"), SHOWN, ids=lambda value: str(value).replace(" ", "-"))
def test_a_mutant_fails_in_lives_of_the_kind_that_is_about_it(kind: str, mutant: Mutation | BrokerMutation) -> None:
    client = frozenset({mutant}) if isinstance(mutant, Mutation) else frozenset()
    broker = frozenset({mutant}) if isinstance(mutant, BrokerMutation) else frozenset()
    lives = enumerate(plan.draw(areas.share_of(KINDS[kind]).lives(None), LIVES, SEED))
    tried = (replace(trial(number), client=client, broker=broker).in_virtual_time(case) for number, case in lives)
    assert any(named(mutant) in failed_in(one) for one in tried)


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in SHOWN}), ids=lambda kind: kind.replace(" ", "-"))
def test_an_honest_client_passes_the_lives_of_that_kind(kind: str) -> None:
    for number, case in enumerate(plan.draw(areas.share_of(KINDS[kind]).lives(None), LIVES, SEED)):
        assert not failed_in(trial(number).in_virtual_time(case)), case.id
