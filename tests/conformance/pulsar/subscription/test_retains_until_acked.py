"""What a topic keeps and what it deletes: too early, not at all, too old; and backlogs that count messages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Step, Topic, Topology, Who
from assay_conformance.model.event import Stepped
from assay_conformance.model.policy import BrokerSettings, Retention
from assay_conformance.pulsar.checks.subscription.retains_until_acked import retains_until_acked

UNLOAD = Step(Who.BROKER, "unload", {"topic": "t"})


def _case(**topic: Any) -> Case:
    topology = Topology(topics=(Topic(name="t", **topic),), settings=BrokerSettings(expiry_check_ms=500))
    return msgspec.structs.replace(ANY_CASE, topology=topology, steps=(UNLOAD,))


NOTHING_RETAINED = _case(retention=Retention())
RETAINED = _case()
LIVES_A_SECOND = _case(message_ttl_s=1)


def _subscribe(story: Script, name: str, conn: int) -> Script:
    story.connected(conn)
    story.subscribed(conn, subscription=name, initialPosition="Earliest")
    story.flow(100, conn=conn)
    return story


def _unloaded(*names: str) -> Script:
    """Four entries; each of these subscriptions has got all of them and acknowledged them when the topic is unloaded,
    and subscription `slow` has got two and acknowledged one."""
    story = Script()
    for conn, name in enumerate((*names, "slow")):
        _subscribe(story, name, conn)
    for number in range(4):
        story.stored(number)
    for conn, name in enumerate((*names, "slow")):
        wanted = range(2) if name == "slow" else range(4)
        for number in wanted:
            story.message(number, conn=conn)
        story.ack_frame(*(range(1) if name == "slow" else range(4)), conn=conn)
    story.after(300).add(Stepped, step=0)
    return story


def _late(story: Script, first: int) -> Script:
    """Somebody who wants everything comes a second later, and is sent this entry first."""
    _subscribe(story.after(1_000), "late", 9).message(first, conn=9)
    return story


def test_late_subscription_that_gets_what_another_needs_is_accepted() -> None:
    check = trial(retains_until_acked, _late(_unloaded("quick"), 0).done(), NOTHING_RETAINED)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_what_only_the_slow_one_needs_no_more_may_be_gone() -> None:
    assert codes_of(trial(retains_until_acked, _late(_unloaded("quick"), 1).done(), NOTHING_RETAINED)) == []


def test_late_subscription_that_misses_what_another_needs_is_found() -> None:
    check = trial(retains_until_acked, _late(_unloaded("quick"), 2).done(), NOTHING_RETAINED)
    assert codes_of(check) == ["deleted-too-early"]


@pytest.mark.parametrize(("back", "codes"), [(False, ["deleted-too-early"]), (True, [])])
def test_subscription_that_acknowledged_a_batch_in_parts_is_not_new_when_its_consumer_comes_back(
    back: bool, codes: list[str]
) -> None:
    story = _subscribe(_subscribe(Script(), "quick", 0), "parts", 1)
    story.stored(0, 1)
    story.stored(2)
    if back:
        story.message(0, 1, conn=1, entry=0, batch=True)
        for left in (2, 1):
            story.ack_frame(0, conn=1, ack_sets=((left,),))
    story.down("CLOSE_CONSUMER", 1, consumer_id=0)
    _subscribe(story, "parts", 2).message(2, conn=2, entry=1)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == codes


def _all_acked(after_ms: int = 1_000, pause_ms: int = 300) -> Script:
    story = _subscribe(Script(), "only", 0)
    for number in range(4):
        story.stored(number)
    for number in range(4):
        story.message(number)
    story.ack_frame(*range(4))
    story.after(pause_ms).down("CLOSE_CONSUMER", 0, consumer_id=0)
    story.add(Stepped, step=0)
    story.after(after_ms).stored(4)
    return story


def test_what_all_have_acknowledged_may_go() -> None:
    check = trial(retains_until_acked, _late(_all_acked(), 4).done(), NOTHING_RETAINED)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_what_all_have_acknowledged_and_stays_is_found() -> None:
    assert codes_of(trial(retains_until_acked, _late(_all_acked(), 0).done(), NOTHING_RETAINED)) == ["kept"]


def test_what_was_acknowledged_while_the_topic_was_unloaded_may_stay() -> None:
    story = _all_acked(pause_ms=50)
    assert codes_of(trial(retains_until_acked, _late(story, 0).done(), NOTHING_RETAINED)) == []


def test_what_was_stored_when_an_empty_topic_had_been_unloaded_stays() -> None:
    story = Script()
    story.add(Stepped, step=0)
    story.stored(0)
    story.after(1_000)
    assert codes_of(trial(retains_until_acked, _late(story, 0).done(), NOTHING_RETAINED)) == []


def test_what_is_retained_stays() -> None:
    check = trial(retains_until_acked, _late(_all_acked(), 0).done(), RETAINED)
    assert (codes_of(check), check.exercised) == ([], 0)


def test_subscription_that_comes_at_once_may_find_it_still() -> None:
    story = _subscribe(_all_acked(after_ms=50), "late", 9)
    story.message(0, conn=9)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == []


def test_subscription_that_comes_as_soon_as_the_topic_is_loaded_may_find_it_still() -> None:
    """A broker took its time to load it."""
    story = _subscribe(_all_acked(), "late", 9)
    story.message(0, conn=9)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == []


@pytest.mark.parametrize(("after_ms", "codes"), [(50, []), (1_000, ["kept"])])
def test_who_comes_back_before_the_unload_is_over_tells_that_the_topic_is_loaded(
    after_ms: int, codes: list[str]
) -> None:
    story = _subscribe(Script(), "only", 0)
    for number in range(4):
        story.stored(number)
        story.message(number)
    story.ack_frame(*range(4))
    story.after(300).closed()
    _subscribe(story, "only", 1)
    story.add(Stepped, step=0)
    _subscribe(story.after(after_ms), "late", 9).message(0, conn=9)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == codes


def test_who_comes_and_is_served_about_an_unload_is_not_judged() -> None:
    story = _all_acked()
    _subscribe(story, "late", 9)
    story.add(Stepped, step=0)
    story.message(0, conn=9)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == []


def _back(first: int, away_ms: int, *, seeks: bool = False) -> Script:
    """A subscription whose consumer left before three messages came is asked for again, one more stored since."""
    story = _subscribe(Script(), "s", 0)
    story.closed()
    for number in range(3):
        story.stored(number)
    story.after(away_ms).stored(3)
    _subscribe(story, "s", 1)
    if seeks:
        story.up("SEEK", 1, consumer_id=0, request_id=50)
    story.message(first, conn=1)
    return story


def test_what_is_too_old_is_passed_over() -> None:
    check = trial(retains_until_acked, _back(3, 4_000).done(), LIVES_A_SECOND)
    assert (codes_of(check), check.exercised) == ([], 1)


def test_what_is_too_old_and_comes_all_the_same_is_found() -> None:
    assert codes_of(trial(retains_until_acked, _back(0, 4_000).done(), LIVES_A_SECOND)) == ["not-expired"]


def test_subscription_that_sought_begins_where_it_was_told_to() -> None:
    assert codes_of(trial(retains_until_acked, _back(0, 4_000, seeks=True).done(), LIVES_A_SECOND)) == []


def test_new_subscription_that_sought_comes_back_to_where_it_was_told_to() -> None:
    story = _subscribe(_unloaded("quick").after(1_000), "late", 9)
    story.up("SEEK", 9, consumer_id=0, request_id=50)
    story.subscribed(9, subscription="late", initialPosition="Earliest")
    story.message(2, conn=9)
    assert codes_of(trial(retains_until_acked, story.done(), NOTHING_RETAINED)) == []


def test_broker_that_has_not_looked_yet_may_keep_it() -> None:
    assert codes_of(trial(retains_until_acked, _back(0, 1_500).done(), LIVES_A_SECOND)) == []


def test_subscription_that_was_made_since_it_looked_may_begin_with_it() -> None:
    story = Script()
    for number in range(3):
        story.stored(number)
    story.after(4_000).stored(3)
    _subscribe(story, "s", 0).message(0)
    story.closed()
    _subscribe(story, "s", 1).message(0, conn=1)
    assert codes_of(trial(retains_until_acked, story.done(), LIVES_A_SECOND)) == []


def _backlog(backlog: int) -> Script:
    story = Script()
    story.stored(0)
    story.stored(*range(1, 5))
    story.read_back(0, 1)
    story.cursor(0, backlog=backlog)
    return story


def test_backlog_that_counts_a_batch_as_one_is_accepted() -> None:
    assert codes_of(trial(retains_until_acked, _backlog(1).done(), RETAINED)) == []


def test_backlog_that_counts_messages_is_found() -> None:
    assert codes_of(trial(retains_until_acked, _backlog(4).done(), RETAINED)) == ["backlog-miscounted"]
