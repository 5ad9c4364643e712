"""The order of a key, both ways: while consumers come and go, and on its way to the application. Entries 0, 1, ... are
all of key k unless told."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.delivery_order import KeyHandedOverInOrder
from assay_conformance.checks.key_order import KeySharedKeepsOrder
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import NAME, Script, entry_id
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.event import MessageId, Meta


def judged(story: Script) -> tuple[list[str], int]:
    said = trial(KeySharedKeepsOrder, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _two() -> Script:
    """Two consumers, each on its connection."""
    story = Script()
    for conn in (0, 1):
        story.connected(conn)
        story.subscribed(conn, kind="Key_Shared")
        story.flow(100, conn=conn)
    return story


def _sent(story: Script, conn: int, *entries: int, key: str | None = "k") -> None:
    for entry in entries:
        story.message(entry, conn=conn, meta=Meta(producer_name=NAME, sequence_id=entry, key=key))


def test_key_that_changes_hands_when_all_is_acknowledged_is_accepted() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, 1, conn=0)
    _sent(story, 1, 2)
    assert judged(story) == ([], 1)


def test_key_that_changes_hands_too_soon_is_found() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    _sent(story, 1, 2)
    assert judged(story)[0] == ["key-at-two-consumers"]


def test_entry_that_was_asked_for_again_may_go_to_another() -> None:
    story = _two()
    _sent(story, 0, 0)
    story.redeliver_frame(0, conn=0)
    _sent(story, 1, 0)
    assert judged(story)[0] == []


def test_what_a_consumer_left_behind_comes_first() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.cut(0)
    _sent(story, 1, 0, 1, 2)
    assert judged(story) == ([], 1)


def test_entry_that_overtakes_what_was_left_behind_is_found() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.cut(0)
    _sent(story, 1, 0, 2, 1)
    assert judged(story)[0] == ["key-out-of-order"]


def test_key_changes_hands_behind_the_second_acknowledgment_when_the_first_came_to_nobody() -> None:
    story = _two()
    _sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    _sent(story, 0, 0)
    story.ack_frame(0, conn=0)
    _sent(story, 1, 1)
    assert judged(story) == ([], 1)


def test_what_was_acknowledged_before_its_consumer_left_does_not_come_first() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0)
    story.cut(0)
    _sent(story, 1, 1, 2)
    assert judged(story)[0] == []


def test_entry_that_goes_out_behind_a_later_one_is_found() -> None:
    story = _two()
    _sent(story, 0, 1, 0)
    assert judged(story)[0] == ["key-out-of-order"]


def test_entries_without_a_key_have_no_order() -> None:
    story = _two()
    _sent(story, 0, 1, key=None)
    _sent(story, 1, 0, key=None)
    assert judged(story) == ([], 0)


def test_batch_that_is_acknowledged_in_part_was_sent_before() -> None:
    story = _two()
    _sent(story, 0, 0, 1)
    story.ack_frame(0, conn=0, ack_sets=((0b10,),))
    story.redeliver_frame(0, conn=0)
    _sent(story, 0, 0)
    assert judged(story)[0] == []


# --- what the client makes of it ---


def _handed(story: Script, *entries: int) -> tuple[list[str], int]:
    for entry in entries:
        story.received(entry)
    said = trial(KeyHandedOverInOrder, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _one(*keys: str | None, kind: str = "Key_Shared") -> Script:
    """A consumer that is sent an entry of each of these keys."""
    story = Script()
    story.consumer(kind=kind)
    story.flow(100)
    for entry, key in enumerate(keys):
        _sent(story, 0, entry, key=key)
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
    return [finding.code for finding in trial(KeyHandedOverInOrder, story.done()).findings]


@pytest.mark.parametrize(("persistent", "codes"), [(True, SWAPPED), (False, [])])
def test_what_is_kept_nowhere_has_one_id_for_all(persistent: bool, codes: list[str]) -> None:
    story = Script()
    story.consumer(kind="Key_Shared")
    for number, key in enumerate("kl"):
        story.message(number, ids=(entry_id(0),), meta=Meta(producer_name=NAME, sequence_id=number, key=key))
    for number in (0, 1):
        story.received(number, message_id=entry_id(0))
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=persistent),)))
    said = trial(KeyHandedOverInOrder, story.done(), case)
    assert [finding.code for finding in said.findings] == codes


def test_entry_that_was_sent_again_may_come_behind_later_ones() -> None:
    story = _one("k", "k", "k")
    story.redeliver_frame(0)
    _sent(story, 0, 0)
    assert _handed(story, 0, 1, 2, 0)[0] == []


def test_asking_for_a_message_again_lets_no_other_go_back() -> None:
    story = _one("k", "k", "k")
    story.redeliver_frame(0)
    assert _handed(story, 0, 2, 1)[0] == SWAPPED


def test_broker_that_sends_a_key_out_of_order_is_not_the_clients_fault() -> None:
    story = _one()
    _sent(story, 0, 1, 0)
    assert _handed(story, 1, 0)[0] == []


@pytest.mark.parametrize(("handed", "codes"), [((0, 1), []), ((0, 1, 0), SWAPPED)])
def test_a_key_may_go_back_once_behind_a_reconnect(handed: tuple[int, ...], codes: list[str]) -> None:
    story = _one("k", "k")
    story.received(0)
    story.received(1)
    story.cut(0)
    story.connected(1)
    story.subscribed(1, kind="Key_Shared")
    _sent(story, 1, 0, 1)
    assert _handed(story, *handed)[0] == codes
