"""Retry letters and dead letters: copies that lack something, originals settled too early or never, counts."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._letters import Letters


def refused_once_more_than_it_may_be(**config: Any) -> Letters:
    story = Letters(**config)
    story.comes(0)
    story.refuse(1)
    story.redeliver_frame(0)
    story.comes(1)
    story.refuse(2)
    return story


def refused_twice(**config: Any) -> Letters:
    story = refused_once_more_than_it_may_be(**config)
    story.opens()
    return story
