"""The check of `throttling.nearest-policy-wins`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import NAMESPACE, TEN, backlog, seconds, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.model.case import Rate
from assay_conformance.pulsar.checks.throttling.nearest_policy_wins import nearest_policy_wins


@pytest.mark.parametrize("own", [4, 25])
def test_topic_that_overrules_its_namespace_is_accepted(own: int) -> None:
    case = topic_of(dispatch_rate=Rate(messages=own), namespace=NAMESPACE)
    check = trial(nearest_policy_wins, backlog(*seconds(5, own)).done(), case)
    assert (codes_of(check), check.exercised) == ([], 4 * own)


@pytest.mark.parametrize(("own", "code"), [(2, "too-fast"), (40, "starved")])
def test_namespace_that_overrules_a_topic_is_found(own: int, code: str) -> None:
    case = topic_of(dispatch_rate=Rate(messages=own), namespace=NAMESPACE)
    assert codes_of(trial(nearest_policy_wins, backlog(*seconds(5)).done(), case)) == [code]


def test_topic_that_says_what_its_namespace_says_overrules_nothing() -> None:
    case = topic_of(dispatch_rate=TEN, namespace=NAMESPACE)
    assert trial(nearest_policy_wins, backlog((500, 60)).done(), case).exercised == 0
