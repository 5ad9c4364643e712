"""The check of `nack.redelivery-requested-in-time`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.conformance.pulsar._letters import Letters
from tests.conformance.pulsar.nack._backoff import refusing
from tests.conformance.pulsar.nack._histories import CASE, DELAY_MS, THIRDS, Calling, Story, client

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.nack.redelivery_requested_in_time import nack_redelivery_requested_in_time


def test_backoff_takes_the_place_of_the_fixed_delay() -> None:
    story = refusing(1)
    story.nack(1)
    story.after(400)
    story.redeliver_frame(0)
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)


class TwoTopics(Calling):
    """An Exclusive consumer of the topics a and b."""

    FULL: ClassVar = {name: f"persistent://public/default/{name}" for name in ("a", "b")}

    def __init__(self) -> None:
        super().__init__(self.FULL)
        self.connected()
        opening = self.invoke("open_consumer", CONSUMER, args={"topics": ["a", "b"], "subscription": "s"})
        for number, topic in enumerate(self.FULL):
            self.subscribed(consumer_id=number, topic=topic)
        self.complete(opening)

    def gets(self, topic: str, number: int) -> None:
        self.message(number, consumer_id=list(self.FULL).index(topic))
        self.received(number, topic=self.FULL[topic])


@pytest.mark.parametrize("after_ms", [DELAY_MS, DELAY_MS + 100, DELAY_MS + 240])
def test_redeliver_inside_window_is_accepted(after_ms: int) -> None:
    story = Story()
    story.call("nack", 2)
    story.after(after_ms)
    story.redeliver_frame(1)
    assert story.judged(nack_redelivery_requested_in_time) == ([], 1)


@pytest.mark.parametrize(("after_ms", "code"), [(DELAY_MS - 20, "too-early"), (DELAY_MS + 100 + 160, "too-late")])
def test_redeliver_outside_window_is_found(after_ms: int, code: str) -> None:
    story = Story()
    story.call("nack", 2)
    story.after(after_ms)
    story.redeliver_frame(1)
    assert story.judged(nack_redelivery_requested_in_time)[0] == [code]


def test_client_with_coarse_clock_may_be_early() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS - 250)
    story.redeliver_frame(1)
    assert story.judged(nack_redelivery_requested_in_time, client(nack_precision_ms=256)) == ([], 1)


def test_client_without_tick_is_held_to_its_delay() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS + 160)
    story.redeliver_frame(1)
    assert story.judged(nack_redelivery_requested_in_time, client(nack_precision_ms=0, nack_tick_fraction=0))[0] == [
        "too-late"
    ]


def test_late_redeliver_on_a_busy_machine_is_undecided() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS + 400)
    story.redeliver_frame(1)
    story.load(600, agent_wait_ms=50)
    said = trial(nack_redelivery_requested_in_time, story.done(), CASE, THIRDS)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


def test_redeliver_that_never_comes_is_found_at_close() -> None:
    story = Story()
    story.call("nack", 2)
    story.after(DELAY_MS + 400)
    story.close_consumer()
    assert story.judged(nack_redelivery_requested_in_time)[0] == ["never-requested"]


def test_close_before_delay_owes_no_redeliver() -> None:
    story = Story()
    story.call("nack", 2)
    story.close_consumer()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)


def test_later_nack_moves_the_upper_bound_only() -> None:
    story = Story()
    story.call("nack", 1)
    story.after(200)
    story.call("nack", 2)
    story.after(DELAY_MS)
    story.redeliver_frame(0, 1)
    assert story.judged(nack_redelivery_requested_in_time) == ([], 2)


def test_of_messages_refused_at_once_the_first_named_is_the_oldest() -> None:
    # The first is excused by its ack. Were the oldest any of the seven, hash seeds would decide what is exercised.
    story = Story(count=7)
    story.call("nack", 1, 2, 3, 4, 5, 6, 7)
    story.call("ack", 1)
    story.after(DELAY_MS)
    story.redeliver_frame()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)


def test_ack_excuses_from_asking_again() -> None:
    story = Story()
    story.call("nack", 2)
    story.call("ack", 2)
    story.after(DELAY_MS + 400)
    story.close_consumer()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)


@pytest.mark.parametrize(("acked", "codes"), [("a", []), ("b", ["never-requested"])])
def test_cumulative_ack_excuses_on_its_own_topic_only(acked: str, codes: list[str]) -> None:
    story = TwoTopics()
    story.gets("a", 0)
    story.gets(acked, 1)
    story.call("nack", 1)
    story.call("ack", 2, cumulative=True)
    story.after(DELAY_MS + 400)
    story.close_consumer()
    assert story.judged(nack_redelivery_requested_in_time)[0] == codes


def test_redeliver_without_ids_asks_for_everything() -> None:
    story = Story(kind="Exclusive")
    story.call("nack", 1)
    story.after(100)
    story.call("nack", 2)
    story.after(220)
    story.redeliver_frame()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 1)


def test_redeliver_without_ids_and_nothing_due_is_early() -> None:
    story = Story(kind="Exclusive")
    story.call("nack", 1)
    story.after(50)
    story.redeliver_frame()
    assert story.judged(nack_redelivery_requested_in_time)[0] == ["too-early"]


def asked_twice(*nacks_ms: int) -> Story:
    """Messages 1, 2 ... are refused at these times, the first of them at 100; two requests for everything follow."""
    story = Story(kind="Exclusive")
    for number, at_ms in enumerate(nacks_ms, 1):
        story.at(at_ms)
        story.call("nack", number)
    for at_ms in (400, 415):
        story.at(at_ms)
        story.redeliver_frame()
    return story


def test_refusals_due_almost_together_may_each_ask_for_everything() -> None:
    """Two within what clocks differ by, and one long after them: whose request came first is not known."""
    assert asked_twice(100, 105, 150).judged(nack_redelivery_requested_in_time)[0] == []


def test_one_refusal_explains_one_request_for_everything() -> None:
    assert asked_twice(100, 200).judged(nack_redelivery_requested_in_time)[0] == ["too-early"]


@pytest.mark.parametrize(("refused", "codes"), [((1, 2, 3), []), ((1,), ["too-early"])])
def test_members_of_a_batch_that_were_refused_together_may_each_have_a_request(
    refused: tuple[int, ...], codes: list[str]
) -> None:
    """The second request is for one of the first refusal that its timer came too early for."""
    story = Story(batch=True)
    story.call("nack", *refused)
    story.after(DELAY_MS)
    story.redeliver_frame(0)
    story.after(10)
    story.call("nack", *refused)
    story.after(30).redeliver_frame(0)
    assert story.judged(nack_redelivery_requested_in_time)[0] == codes


def test_nack_over_lost_connection_is_not_judged() -> None:
    story = Story()
    story.call("nack", 2)
    story.cut()
    story.after(DELAY_MS + 400)
    story.close_consumer()
    assert story.judged(nack_redelivery_requested_in_time) == ([], 0)


def test_redeliver_by_ack_timeout_is_not_early() -> None:
    story = Story()
    story.call("nack", 2)
    story.redeliver_frame(1)
    facts = client(nack_precision_ms=0, ack_timeout_ms=10_000)
    assert story.judged(nack_redelivery_requested_in_time, facts)[0] == []


@pytest.mark.parametrize(("outcome", "codes"), [(Outcome.FAIL, []), (Outcome.OK, ["too-early"])])
def test_entry_with_a_message_whose_retry_letter_fails_may_be_asked_for_at_once(
    outcome: Outcome, codes: list[str]
) -> None:
    story = Story(batch=True)
    story.call("nack", 1)
    story.fails_to_go_round(2, outcome)
    story.redeliver_frame(0)
    assert story.judged(nack_redelivery_requested_in_time)[0] == codes


@pytest.mark.parametrize(("refused", "codes"), [(True, []), (False, ["too-early"])])
def test_entry_whose_dead_letter_may_have_failed_may_be_asked_for_at_once(refused: bool, codes: list[str]) -> None:
    story = Letters(nack_precision_ms=0)
    story.comes(1)
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    if refused:
        story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.refuse()
    story.redeliver_frame(0)
    check = story.judged(nack_redelivery_requested_in_time)
    assert [finding.code for finding in check.findings] == codes
