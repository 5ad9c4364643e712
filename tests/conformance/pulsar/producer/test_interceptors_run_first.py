"""The check of `producer.interceptors-run-first`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._hooks import Hooked

from assay_conformance.pulsar.checks.producer.interceptors_run_first import interceptors_run_first


def _intercepted(*ahead: str, behind: tuple[str, ...] = ()) -> Hooked:
    story = Hooked(interceptor="notes")
    story.send(0)
    story.tells(0, *ahead)
    story.ok(0)
    story.tells(0, *behind)
    return story


def test_interceptor_is_called_first_and_told_first() -> None:
    assert _intercepted("before-send", "router", "acknowledged").judged(interceptors_run_first) == ([], 1)


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (_intercepted("router", "before-send", "acknowledged"), "behind-router"),
        (_intercepted("before-send", "router", behind=("acknowledged",)), "told-late"),
        (_intercepted("before-send", "before-send", "acknowledged"), "not-once"),
        (_intercepted("before-send"), "not-once"),
    ],
    ids=["behind-the-router", "told-late", "twice", "not-told"],
)
def test_interceptor_that_is_called_otherwise_is_found(story: Hooked, code: str) -> None:
    assert story.judged(interceptors_run_first)[0] == [code]


def test_messages_too_small_to_say_their_number_are_not_judged() -> None:
    story = Hooked(interceptor="notes", router="by_number")
    story.send(0, size=2)
    story.tells(0, "before-send", "before-send", "acknowledged")
    story.ok(0)
    assert story.judged(interceptors_run_first) == ([], 0)
