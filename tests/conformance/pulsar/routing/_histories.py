"""Routing checks, both ways, on histories of a few lines. Topic `t` has five partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.conformance.pulsar._routing import Story


def hashed(scheme: str, key: str, partition: int) -> Story:
    story = Story(hashing_scheme=scheme)
    story.goes(0, partition, key)
    return story


def unkeyed(partitions: Iterable[int], **config: Any) -> Story:
    story = Story(**config)
    for number, partition in enumerate(partitions):
        story.goes(number, partition)
    return story
