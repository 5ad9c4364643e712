"""The check of `connection.registers-as-configured`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import Config
from assay_conformance.pulsar.checks.connection.registers_as_configured import registers_as_configured

PROPERTIES = [{"key": "team", "value": "orders"}, {"key": "stage", "value": "test"}]
STICKY = {"keySharedMode": "STICKY", "hashRanges": [{"start": 0, "end": 99}, {"start": 200, "end": 299}]}


def _codes(story: Script) -> list[str]:
    return [finding.code for finding in trial(registers_as_configured, story.done()).findings]


def _consumer(config: Config, *stated: dict[str, Any]) -> list[str]:
    """What is found of a consumer with this configuration that registers with each of these."""
    story = Script()
    call = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s", "config": config})
    for conn, fields in enumerate(stated):
        story.connected(conn)
        story.subscribed(conn, **fields)
        story.cut(conn)
    story.complete(call)
    return _codes(story)


def _producer(config: Config, *stated: dict[str, Any]) -> list[str]:
    """What is found of a producer with this configuration that registers with each of these."""
    story = Script()
    call = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
    for conn, fields in enumerate(stated):
        story.connected(conn)
        story.producer_ready(conn, **fields)
        story.cut(conn)
    story.complete(call)
    return _codes(story)


@pytest.mark.parametrize(
    ("config", "good", "bad", "code"),
    [
        ({"subscription_type": "key_shared"}, {"kind": "Key_Shared"}, {"kind": "Exclusive"}, "other-type"),
        ({"consumer_name": "a"}, {"consumer_name": "a"}, {"consumer_name": "b"}, "other-name"),
        ({"consumer_name": "a"}, {"consumer_name": "a"}, {}, "other-name"),
        ({"properties": "team=orders,stage=test"}, {"metadata": PROPERTIES}, {}, "other-properties"),
        ({"properties": "team=orders"}, {"metadata": PROPERTIES}, {"metadata": PROPERTIES[1:]}, "other-properties"),
        ({"read_compacted": True}, {"read_compacted": True}, {}, "other-compaction"),
        ({"key_shared_ranges": "0-99,200-299"}, {"keySharedMeta": STICKY}, {}, "other-ranges"),
        (
            {"key_shared_out_of_order": True},
            {"keySharedMeta": {"allowOutOfOrderDelivery": True}},
            {"keySharedMeta": {"keySharedMode": "AUTO_SPLIT"}},
            "other-order",
        ),
    ],
)
def test_consumer_states_what_was_configured_each_time(
    config: Config, good: dict[str, Any], bad: dict[str, Any], code: str
) -> None:
    assert _consumer(config, good, good) == []
    assert _consumer(config, good, bad) == [code]


@pytest.mark.parametrize(
    ("config", "good", "bad", "code"),
    [
        (
            {"access_mode": "exclusive_with_fencing"},
            {"producer_access_mode": "ExclusiveWithFencing"},
            {"producer_access_mode": "Exclusive"},
            "other-access-mode",
        ),
        ({"access_mode": "shared"}, {}, {"producer_access_mode": "Exclusive"}, "other-access-mode"),
        ({"properties": "team=orders"}, {"metadata": PROPERTIES}, {"metadata": []}, "other-properties"),
    ],
)
def test_producer_states_what_was_configured_each_time(
    config: Config, good: dict[str, Any], bad: dict[str, Any], code: str
) -> None:
    assert _producer(config, good, good) == []
    assert _producer(config, good, bad) == [code]


def test_what_was_not_configured_is_the_clients_choice() -> None:
    assert _consumer({}, {"consumer_name": "a1b2c", "metadata": PROPERTIES}) == []


def test_producers_of_dead_letters_have_settings_of_their_own() -> None:
    story = Script()
    story.consumer(kind="Shared", max_redeliver_count=1)
    story.producer_ready(topic="t-s-DLQ", producer_access_mode="Exclusive")
    assert _codes(story) == []
