"""The check of `retry-letter.copy-is-complete`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._letters import DELAY_MS, sent_round, sent_round_again
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.retry_letter.copy_is_complete import retry_letter_copy_is_complete


def _retry_letter(due_ms: int | None = DELAY_MS, **letter: str) -> Check:
    story = sent_round()
    call = next(event for event in story.events if isinstance(event, Invoke) and event.verb == "reconsume_later")
    due_ms = None if due_ms is None else due_ms + round(call.t_ns / 1e6)
    told = {"RECONSUMETIMES": "1", "DELAY_TIME": str(DELAY_MS), **letter}
    story.posts(letter=told, deliver_at_ms=due_ms)
    return story.judged(retry_letter_copy_is_complete)


def test_retry_letter_with_its_delay_is_accepted() -> None:
    check = _retry_letter()
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("delay_ms", "codes"), [(DELAY_MS, []), (0, []), (1, ["other-delay", "other-time"])])
def test_message_sent_round_twice_may_go_by_either_call(delay_ms: int, codes: list[str]) -> None:
    story = sent_round()
    story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.after(2_000)
    due_ms = delay_ms + round(story.events[-1].t_ns / 1e6) if delay_ms != 1 else 1_000_000
    story.posts(letter={"RECONSUMETIMES": "1", "DELAY_TIME": str(delay_ms)}, deliver_at_ms=due_ms)
    assert codes_of(story.judged(retry_letter_copy_is_complete)) == codes


def test_letter_of_the_first_round_in_place_of_the_seconds_is_found() -> None:
    story, told = sent_round_again()
    story.posts(number=1, letter=told, deliver_at_ms=DELAY_MS)
    assert "rounds-miscounted" in codes_of(story.judged(retry_letter_copy_is_complete))


def test_letter_of_the_first_round_may_come_again_on_another_connection() -> None:
    story, told = sent_round_again()
    story.cut()
    story.connected(1)
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-RETRY", name="letters", epoch=1)
    story.posts(conn=1, letter=told, deliver_at_ms=DELAY_MS)
    assert codes_of(story.judged(retry_letter_copy_is_complete)) == []


def test_other_messages_of_a_batch_are_of_a_round_of_their_own() -> None:
    story, told = sent_round_again(batch=2)
    story.posts(number=1, letter=told, deliver_at_ms=DELAY_MS)
    assert codes_of(story.judged(retry_letter_copy_is_complete)) == []


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"RECONSUMETIMES": "0"}, "rounds-miscounted"),
        ({"DELAY_TIME": "1"}, "other-delay"),
        ({"due_ms": 0}, "other-time"),
        ({"due_ms": None}, "other-time"),
    ],
    ids=str,
)
def test_retry_letter_that_says_something_else_is_found(told: dict[str, Any], code: str) -> None:
    assert codes_of(_retry_letter(**told)) == [code]
