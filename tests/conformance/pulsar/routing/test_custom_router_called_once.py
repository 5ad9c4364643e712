"""The check of `routing.custom-router-called-once`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._hooks import Hooked

from assay_conformance.pulsar.checks.routing.custom_router_called_once import custom_router_called_once


def _routed(*answers: int, partitions: int = 5, went: int = 3) -> Hooked:
    story = Hooked(router="by_number")
    for answer in answers:
        story.routes(0, answer, partitions)
    story.goes(0, went)
    return story


def test_router_that_is_asked_once_and_heard() -> None:
    assert _routed(3).judged(custom_router_called_once) == ([], 1)


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (_routed(), "not-asked"),
        (_routed(3, 3), "asked-again"),
        (_routed(3, partitions=4), "wrong-count"),
        (_routed(2), "not-heard"),
    ],
    ids=["never", "twice", "of-four", "elsewhere"],
)
def test_router_that_is_asked_otherwise_is_found(story: Hooked, code: str) -> None:
    assert story.judged(custom_router_called_once)[0] == [code]
