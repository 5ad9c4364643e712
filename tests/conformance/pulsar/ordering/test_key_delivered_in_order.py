"""The check of `ordering.key-delivered-in-order`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar.ordering._key_order import sent

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, Script, entry_id
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import MessageId, Meta
from assay_conformance.pulsar.checks.ordering.key_delivered_in_order import key_delivered_in_order


def _handed(story: Script, *entries: int) -> tuple[list[str], int]:
    for entry in entries:
        story.received(entry)
    said = trial(key_delivered_in_order, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _one(*keys: str | None, kind: str = "Key_Shared") -> Script:
    """A consumer that is sent an entry of each of these keys."""
    story = Script()
    story.consumer(kind=kind)
    story.flow(100)
    for entry, key in enumerate(keys):
        sent(story, 0, entry, key=key)
    return story


SWAPPED = ["key-handed-over-out-of-order"]


def test_key_that_is_handed_over_in_order_is_accepted() -> None:
    assert _handed(_one("k", "k", "k"), 0, 1, 2) == ([], 2)


def test_key_that_is_handed_over_out_of_order_is_found() -> None:
    assert _handed(_one("k", "k", "k"), 0, 2, 1)[0] == SWAPPED


def test_message_of_a_key_that_is_handed_over_twice_is_found() -> None:
    assert _handed(_one("k"), 0, 0)[0] == SWAPPED


def test_keys_may_overtake_each_other() -> None:
    assert _handed(_one("k", "l", "k"), 1, 0, 2) == ([], 1)


def test_messages_without_a_key_may_overtake_each_other() -> None:
    assert _handed(_one(None, None), 1, 0) == ([], 0)


@pytest.mark.parametrize("kind", ["Shared", "Exclusive"])
def test_key_is_the_order_of_key_shared_alone(kind: str) -> None:
    assert _handed(_one("k", "k", kind=kind), 1, 0) == ([], 0)


def test_batch_of_a_key_that_is_handed_over_backwards_is_found() -> None:
    story = Script()
    story.consumer(kind="Key_Shared")
    story.message(0, 1, meta=Meta(producer_name=NAME, sequence_id=0, key="k", batch=2))
    story.received(1, message_id=entry_id(0, 1, 2))
    assert _handed_last(story, 0, entry_id(0, 0, 2)) == SWAPPED


def _handed_last(story: Script, number: int, id: MessageId) -> list[str]:
    story.received(number, message_id=id)
    return [finding.code for finding in trial(key_delivered_in_order, story.done()).findings]


@pytest.mark.parametrize(("persistent", "codes"), [(True, SWAPPED), (False, [])])
def test_what_is_kept_nowhere_has_one_id_for_all(persistent: bool, codes: list[str]) -> None:
    story = Script()
    story.consumer(kind="Key_Shared")
    for number, key in enumerate("kl"):
        story.message(number, ids=(entry_id(0),), meta=Meta(producer_name=NAME, sequence_id=number, key=key))
    for number in (0, 1):
        story.received(number, message_id=entry_id(0))
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=persistent),)))
    said = trial(key_delivered_in_order, story.done(), case)
    assert [finding.code for finding in said.findings] == codes


def test_entry_that_was_sent_again_may_come_behind_later_ones() -> None:
    story = _one("k", "k", "k")
    story.redeliver_frame(0)
    sent(story, 0, 0)
    assert _handed(story, 0, 1, 2, 0)[0] == []


def test_asking_for_a_message_again_lets_no_other_go_back() -> None:
    story = _one("k", "k", "k")
    story.redeliver_frame(0)
    assert _handed(story, 0, 2, 1)[0] == SWAPPED


def test_broker_that_sends_a_key_out_of_order_is_not_the_clients_fault() -> None:
    story = _one()
    sent(story, 0, 1, 0)
    assert _handed(story, 1, 0)[0] == []


@pytest.mark.parametrize(("handed", "codes"), [((0, 1), []), ((0, 1, 0), SWAPPED)])
def test_a_key_may_go_back_once_behind_a_reconnect(handed: tuple[int, ...], codes: list[str]) -> None:
    story = _one("k", "k")
    story.received(0)
    story.received(1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1, kind="Key_Shared")
    sent(story, 1, 0, 1)
    assert _handed(story, *handed)[0] == codes
