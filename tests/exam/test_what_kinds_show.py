"""What a kind of life is there for shows in its lives: an honest client passes all of them, a mutant fails in some."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fuzz.lives import trial
from tests.exam.test_both_ways import failed_in, named

from assay_conformance.machines import areas, plan
from assay_conformance.machines.kinds import KINDS

LIVES, SEED = 25, 1

SHOWN = (
    ("finds its topic full", "quota-exceeded-keeps-pending"),
    ("leaves without receipts", "pending-outlives-close"),
    ("waits for its turn", "waiting-producer-times-out"),
    ("has one name of many", "dedup-snapshot-unbounded"),
    ("dies with what it sends", "ignores-last-sequence-id"),
    ("dies with what it has", "resubscribe-starts-over"),
    ("has little memory", "memory-limit-per-producer"),
    ("is told limits that differ", "max-message-size-of-last-connection"),
    ("fills a broker's buffer", "publish-buffer-limit-ignored"),
    ("refuses at a rate", "redelivery-not-charged"),
    ("refuses at a rate", "replay-has-own-rate"),
    ("publishes at a rate", "broker-publish-rate-ignored"),
    ("publishes at a rate", "publish-throttle-answers-error"),
    ("reads at once or never", "non-persistent-waits-for-rate"),
    ("stands beside another one", "full-queue-stops-reading"),
    ("stands beside another one", "full-producer-holds-others"),
    ("listens to several topics", "holds-again-behind-handler"),
    ("listens to what comes to be", "new-topics-stay-paused"),
    ("listens as a reader", "reader-starts-over"),
    ("has a supplier of credentials", "supplier-failure-is-final"),
)


@pytest.mark.few(8)
@pytest.mark.parametrize(("kind", "mutant"), SHOWN, ids=lambda value: str(value).replace(" ", "-"))
def test_a_mutant_fails_in_lives_of_the_kind_that_is_about_it(kind: str, mutant: str) -> None:
    lives = enumerate(plan.draw(areas.share_of(KINDS[kind]).lives(None), LIVES, SEED))
    tried = (replace(trial(number), mutants=frozenset({mutant})).in_virtual_time(case) for number, case in lives)
    assert any(named(mutant) in failed_in(one) for one in tried)


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", sorted({kind for kind, _ in SHOWN}), ids=lambda kind: kind.replace(" ", "-"))
def test_an_honest_client_passes_the_lives_of_that_kind(kind: str) -> None:
    for number, case in enumerate(plan.draw(areas.share_of(KINDS[kind]).lives(None), LIVES, SEED)):
        assert not failed_in(trial(number).in_virtual_time(case)), case.id
