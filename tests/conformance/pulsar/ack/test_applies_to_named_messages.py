"""What an ACK settles at the broker, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import entry_id
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import NO_ENTRY, Fate, Stepped
from assay_conformance.pulsar.checks.ack.applies_to_named_messages import applies_to_named_messages


class _Sent(Consuming):
    """A batch of four and a message went to a consumer; half a second passes after each ACK."""

    def __init__(self, kind: str = "Shared") -> None:
        super().__init__(kind, batch_index_ack=True)
        self.kind = kind
        self.gets_batch(0, 4)
        self.gets(1)

    def acks(self, *words: int, index: int = -1, ack_type: str = "Individual", entry: int = 0) -> None:
        sets: dict[str, Any] = {"ack_sets": (words,)} if words else {}
        self.ack_frame(entry_id(entry, index), ack_type=ack_type, **sets)
        self.after(500)

    def comes_back(self) -> None:
        self.cut()
        self.again(1, kind=self.kind)
        self.flow(1_000, conn=1)

    def batch_comes(self, *words: int) -> None:
        sets: dict[str, Any] = {"ack_sets": (words,)} if words else {}
        self.message(*range(4), entry=0, batch=True, conn=1, **sets)

    def found(self) -> tuple[list[str], int]:
        said = trial(applies_to_named_messages, self.after(1_000).done(), facts=self.facts)
        return [finding.code for finding in said.findings], said.exercised


def test_entry_named_by_one_of_its_messages_stays_away() -> None:
    story = _Sent()
    story.acks(index=1)
    story.comes_back()
    assert story.found() == ([], 1)


def test_entry_named_by_one_of_its_messages_that_comes_again_is_found() -> None:
    story = _Sent()
    story.acks(index=1)
    story.comes_back()
    story.batch_comes()
    assert story.found()[0] == ["settled-again"]


def test_subscription_that_is_not_durable_is_a_new_one_when_its_consumer_comes_back() -> None:
    story = _Sent("Exclusive")
    story.acks(index=1)
    story.comes_back()
    story.batch_comes()
    story.as_reader()
    assert story.found()[0] == []


def test_broker_that_loaded_the_topic_anew_may_know_less() -> None:
    story = _Sent()
    story.acks(0b1101)
    story.add(Stepped, step=0)
    story.comes_back()
    story.batch_comes()
    unload = Step(Who.BROKER, "unload", {"topic": "t"})
    case = msgspec.structs.replace(ANY_CASE, steps=(unload,))
    assert trial(applies_to_named_messages, story.after(1_000).done(), case, story.facts).findings == []


def test_sets_that_joined_are_accepted() -> None:
    story = _Sent()
    story.acks(0b1110)
    story.acks(0b1101)
    story.comes_back()
    story.batch_comes(0b1100)
    assert story.found() == ([], 1)


@pytest.mark.parametrize(("words", "code"), [((0b1101,), "member-again"), ((), "member-again"), ((8,), "member-lost")])
def test_rest_that_is_another_one_is_found(words: tuple[int, ...], code: str) -> None:
    story = _Sent()
    story.acks(0b1110)
    story.acks(0b1101)
    story.comes_back()
    story.batch_comes(*words)
    assert story.found()[0] == [code]


def test_sets_that_leave_nothing_settle_the_entry() -> None:
    story = _Sent()
    story.acks(0b1100)
    story.acks(0b0011)
    story.comes_back()
    assert story.found() == ([], 1)


def test_cumulative_ack_on_a_shared_subscription_settles_nothing() -> None:
    story = _Sent()
    story.acks(ack_type="Cumulative", entry=1)
    story.comes_back()
    story.batch_comes()
    story.message(1, conn=1)
    assert story.found() == ([], 2)


def test_cumulative_ack_that_is_taken_on_a_shared_subscription_is_found() -> None:
    story = _Sent()
    story.acks(ack_type="Cumulative", entry=1)
    story.comes_back()
    assert story.found()[0] == ["taken"]


def test_cumulative_ack_of_an_exclusive_consumer_settles_what_is_before() -> None:
    story = _Sent("Exclusive")
    story.acks(ack_type="Cumulative", entry=1)
    story.comes_back()
    story.batch_comes()
    assert story.found()[0] == ["settled-again"]


def several_at_once(kind: str) -> _Sent:
    story = _Sent(kind)
    story.ack_frame(entry_id(0), entry_id(1), ack_type="Cumulative")
    story.after(500)
    story.comes_back()
    return story


def test_cumulative_ack_of_several_settles_nothing() -> None:
    story = several_at_once("Exclusive")
    story.batch_comes()
    story.message(1, conn=1)
    assert story.found() == ([], 2)


def test_cumulative_ack_of_several_that_is_taken_is_found() -> None:
    story = several_at_once("Exclusive")
    story.message(1, conn=1)
    assert story.found()[0] == ["taken"]


def test_what_comes_behind_bits_that_a_fault_wrote_into_an_ack_is_not_judged() -> None:
    story = _Sent("Exclusive")
    story.ack_frame(entry_id(1), ack_sets=((0b11,),), fate=Fate.ALTERED)
    story.ack_frame(entry_id(0), entry_id(1), ack_type="Cumulative")
    story.after(500)
    story.comes_back()
    story.message(1, conn=1)
    assert story.found()[0] == []


def test_cumulative_ack_of_several_is_not_judged_where_another_may_be_the_active_one() -> None:
    assert several_at_once("Failover").found() == ([], 0)


def test_cumulative_ack_that_is_said_again_as_it_should_be_settles() -> None:
    story = _Sent("Exclusive")
    story.ack_frame(entry_id(0), entry_id(1), ack_type="Cumulative")
    story.after(500)
    story.acks(ack_type="Cumulative", entry=1)
    story.comes_back()
    assert story.found()[0] == []


def test_cumulative_ack_of_what_is_before_the_first_entry_settles_nothing() -> None:
    story = _Sent("Exclusive")
    story.acks(ack_type="Cumulative", entry=NO_ENTRY)
    story.comes_back()
    story.batch_comes()
    assert story.found()[0] == []


def test_ack_of_a_moment_ago_may_not_have_been_read() -> None:
    story = _Sent()
    story.ack_frame(entry_id(0, 1))
    story.comes_back()
    story.batch_comes()
    assert story.found()[0] == []


def test_what_a_broker_knows_after_an_unload_is_another_matter() -> None:
    story = _Sent()
    story.acks(index=1)
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.comes_back()
    story.batch_comes()
    assert story.found()[0] == []


def test_who_comes_beside_the_one_that_has_it_is_owed_nothing() -> None:
    story = _Sent()
    story.acks(ack_type="Cumulative", entry=1)
    story.subscribed(kind="Shared", consumer_id=1)
    story.flow(1_000, consumer_id=1)
    assert story.found()[0] == []


def test_batch_that_begins_with_some_of_its_messages_comes_again_with_those() -> None:
    """A seek has set the subscription inside it."""
    story = Consuming("Shared", batch_index_ack=True)
    story.message(*range(4), entry=0, batch=True, ack_sets=((0b1100,),))
    story.ack_frame(entry_id(0, -1), ack_type="Individual", ack_sets=((0b1011,),))
    story.after(500)
    story.message(*range(4), entry=0, batch=True, ack_sets=((0b1000,),))
    said = trial(applies_to_named_messages, story.after(1_000).done(), facts=story.facts)
    assert ([finding.code for finding in said.findings], said.exercised) == ([], 1)
