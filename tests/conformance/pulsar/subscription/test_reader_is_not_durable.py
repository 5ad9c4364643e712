"""The check of `subscription.reader-is-not-durable`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Topic, Topology
from assay_conformance.pulsar.checks.subscription.reader_is_not_durable import reader_is_not_durable


@pytest.mark.parametrize(
    ("reader", "asked", "codes", "exercised"),
    [
        (True, False, [], 1),
        (True, True, ["durable"], 0),
        (False, True, [], 0),
        (False, False, ["not-durable"], 0),
    ],
)
def test_reader_alone_asks_for_no_durable_subscription(
    reader: bool, asked: bool, codes: list[str], exercised: int
) -> None:
    story = Script()
    args = {"topics": ["t"], "subscription": "s", **({"config": {"durable": False}} if reader else {})}
    call = story.invoke("open_consumer", CONSUMER, args=args)
    story.connected(0)
    story.subscribed(durable=asked)
    story.complete(call)
    check = trial(reader_is_not_durable, story.done())
    assert [finding.code for finding in check.findings] == codes
    assert check.exercised == exercised


@pytest.mark.parametrize(("persistent", "codes"), [(True, ["not-durable"]), (False, [])])
def test_consumer_of_a_non_persistent_topic_may_ask_for_no_durable_subscription(
    persistent: bool, codes: list[str]
) -> None:
    case = replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=persistent),)))
    story = Script()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
    story.connected(0)
    story.subscribed(durable=False)
    story.complete(call)
    check = trial(reader_is_not_durable, story.done(), case)
    assert [finding.code for finding in check.findings] == codes
