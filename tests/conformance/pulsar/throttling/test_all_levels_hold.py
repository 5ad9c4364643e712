"""The check of `throttling.all-levels-hold`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.throttling._levels import TEN, backlog, case_of, read, topic_of

from assay_conformance.checks.trial import trial
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.pulsar.checks.throttling.all_levels_hold import all_levels_hold

TWO_LEVELS: dict[str, Any] = {"dispatch_rate": TEN, "subscription_rate": Rate(messages=30)}


def test_levels_that_hold_together_are_accepted() -> None:
    story = backlog((500, 5), (1_500, 5))
    read(story, (2_510, 5), (3_510, 5), subscription="other", conn=1)
    check = trial(all_levels_hold, story.done(), topic_of(**TWO_LEVELS))
    assert (codes_of(check), check.exercised) == ([], 10)


@pytest.mark.parametrize("levels", [TWO_LEVELS, {"dispatch_rate": Rate(messages=90), "subscription_rate": TEN}])
def test_level_that_is_not_looked_at_is_found(levels: dict[str, Any]) -> None:
    assert codes_of(trial(all_levels_hold, backlog((500, 30)).done(), topic_of(**levels))) == ["too-fast"]


def test_broker_rate_counts_all_topics() -> None:
    story = backlog((500, 20))
    read(story, (560, 20), topic="u", conn=1)
    topics = tuple(Topic(name=name, dispatch_rate=Rate(messages=30)) for name in ("t", "u"))
    case = case_of(Topology(topics=topics, settings=BrokerSettings(dispatch_rate=TEN)))
    assert codes_of(trial(all_levels_hold, story.done(), case)) == ["too-fast"]


def test_one_level_alone_is_no_matter_of_levels() -> None:
    check = trial(all_levels_hold, backlog((500, 60)).done(), topic_of(dispatch_rate=TEN))
    assert (codes_of(check), check.exercised) == ([], 0)
