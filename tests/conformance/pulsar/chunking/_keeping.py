"""Chunks that are kept and given up, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar.chunking._chunked import CLIENT, Story

from assay_conformance.model.facts import ClientFacts


def client(**fixed: int | bool) -> ClientFacts:
    return msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, **fixed})


def delivered_before(*again: int) -> Story:
    """A whole message was delivered as entries 0 to 2; these of its chunks come once more."""
    story = Story()
    for chunk in (0, 1, 2, *again):
        story.arrives(chunk, chunk)
    story.gets(2)
    return story
