"""Acks that wait for no interval: a full group, and clients without one."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._consuming import Consuming


def grouped(**constants: Any) -> Consuming:
    story = Consuming(ack_group_max=3, **constants)
    story.gets(0, 1, 2, 3)
    return story
