"""The check of `nack.requests-merged`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.checks.tolerance import MS
from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.nack.requests_merged import requests_merged


def together(most: int = 0) -> Consuming:
    story = Consuming(nack_delay_ms=300, max_redeliver_count=most)
    story.gets(0, 1, 2, 3)
    story.nack(1, 2, 3, 4)
    story.after(300)
    return story


def test_refusals_of_one_call_in_one_command_are_right() -> None:
    story = together()
    story.redeliver_frame(0, 1, 2, 3)
    assert story.judged(requests_merged) == ([], 1)


def test_agents_word_on_the_call_may_come_behind_the_request() -> None:
    story = Consuming(nack_delay_ms=300)
    story.gets(0, 1, 2, 3)
    invoke = story.invoke("nack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2, 3, 4]})
    story.after(300)
    story.redeliver_frame(0, 1, 2, 3)
    story.complete(invoke)
    assert story.judged(requests_merged) == ([], 1)


def test_tick_may_fall_between_them() -> None:
    story = together()
    story.redeliver_frame(0)
    story.redeliver_frame(1, 2, 3)
    assert story.judged(requests_merged) == ([], 1)


@pytest.mark.parametrize(("done_ms", "codes"), [(1, ["not-merged"]), (190, [])])
def test_a_tick_falls_between_them_while_the_client_takes_them_over_and_not_while_its_agent_tells(
    done_ms: int, codes: list[str]
) -> None:
    story = Consuming(nack_delay_ms=300)
    story.gets(0, 1, 2, 3)
    invoke = story.invoke("nack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2, 3, 4]})
    called_ns = invoke.t_ns
    story.after(200)
    story.complete(invoke, called_ns=called_ns, done_ns=called_ns + done_ms * MS)
    story.after(100)
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(requests_merged)[0] == codes


def test_messages_whose_letters_could_not_be_sent_come_back_one_by_one() -> None:
    story = together(most=1)
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(requests_merged)[0] == []


def test_refusals_asked_for_one_by_one_are_found() -> None:
    story = together()
    for entry in range(4):
        story.redeliver_frame(entry)
    assert story.judged(requests_merged)[0] == ["not-merged"]
