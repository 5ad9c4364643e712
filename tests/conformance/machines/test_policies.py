"""What is set of brokers, namespace and topic: rows of tables, and two of them together."""

from __future__ import annotations

import pytest

from assay_conformance.machines.policies import DELAYS, PLAIN, RATES, SETTINGS, Rules
from assay_conformance.model.policy import BrokerSettings, DelayedDelivery, Policies, Rate


@pytest.mark.parametrize("rules", [*RATES, *SETTINGS, *DELAYS], ids=repr)
def test_every_row_sets_something(rules: Rules) -> None:
    assert rules != PLAIN


def test_two_rules_hold_together() -> None:
    rate, tick = Rate(messages=2), DelayedDelivery(tick_ms=50)
    ours = Rules(topic=Policies(dispatch_rate=rate), broker=BrokerSettings(delayed_strict=True))
    theirs = Rules(topic=Policies(delayed_delivery=tick), broker=BrokerSettings(max_pending_sends=2))
    assert ours | theirs == Rules(
        topic=Policies(dispatch_rate=rate, delayed_delivery=tick),
        broker=BrokerSettings(delayed_strict=True, max_pending_sends=2),
    )


def test_where_both_set_something_the_first_one_counts() -> None:
    two, six = (Rules(topic=Policies(dispatch_rate=Rate(messages=messages))) for messages in (2, 6))
    assert two | six == two


def test_plain_rules_change_nothing() -> None:
    assert all(rules | PLAIN == rules == PLAIN | rules for rules in RATES)
