"""The check of `subscription.asks-for-its-position`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.case import Config
from assay_conformance.pulsar.checks.subscription.asks_for_its_position import asks_for_its_position


def _judged(config: Config, *asked: dict[str, Any]) -> tuple[list[str], int]:
    """What is said of a consumer with this configuration and these SUBSCRIBEs."""
    story = Script()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s", "config": config})
    for conn, fields in enumerate(asked):
        story.connected(conn)
        story.subscribed(conn, **fields)
        story.cut(conn)
    story.complete(call)
    check = trial(asks_for_its_position, story.done())
    return [finding.code for finding in check.findings], check.exercised


@pytest.mark.parametrize(
    ("chosen", "asked", "codes"),
    [
        ("earliest", {"initialPosition": "Earliest"}, []),
        ("earliest", {"initialPosition": "Latest"}, ["begins-elsewhere"]),
        ("earliest", {}, ["begins-elsewhere"]),
        ("latest", {}, []),
        ("latest", {"initialPosition": "Earliest"}, ["begins-elsewhere"]),
    ],
)
def test_consumer_asks_for_the_position_that_was_chosen(chosen: str, asked: dict[str, Any], codes: list[str]) -> None:
    assert _judged({"initial_position": chosen}, asked) == (codes, 0 if codes else 1)


def test_nothing_is_said_of_a_subscription_that_is_there() -> None:
    assert _judged({"initial_position": "earliest"}, {"initialPosition": "Earliest"}, {}) == ([], 1)


def test_nothing_is_said_of_readers() -> None:
    assert _judged({"initial_position": "earliest", "durable": False}, {"durable": False}) == ([], 0)
