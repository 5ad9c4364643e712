"""Whether handler calls for one partition, or key, overlap."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import Handlers

from assay_conformance.pulsar.checks.listener.one_call_at_a_time import one_call_at_a_time


def overlapping(kind: str, *keys: str | None) -> tuple[list[str], int]:
    """A handler is called for each of these keys before it has returned from any."""
    story = Handlers(kind)
    for number, key in enumerate(keys):
        story.called(number, key=key)
    for number in range(len(keys)):
        story.handled(number + 1)
    return story.judged(one_call_at_a_time)


def test_call_behind_the_end_of_the_one_before_is_accepted() -> None:
    story = Handlers()
    for number in range(3):
        story.called(number)
        story.handled(number + 1)
    assert story.judged(one_call_at_a_time) == ([], 2)


def test_call_beside_another_one_is_found() -> None:
    assert overlapping("Shared", None, None) == (["overlapping"], 0)


def test_calls_of_several_keys_may_overlap_on_key_shared() -> None:
    assert overlapping("Key_Shared", "a", "b") == ([], 0)
    assert overlapping("Key_Shared", "a", "a") == (["overlapping"], 0)


def test_calls_without_a_key_are_not_judged_on_key_shared() -> None:
    assert overlapping("Key_Shared", None, None) == ([], 0)


def test_call_that_never_ended_overlaps_with_the_next() -> None:
    story = Handlers()
    story.called(0)
    story.called(1)
    assert story.judged(one_call_at_a_time) == (["overlapping"], 0)
