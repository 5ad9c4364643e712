"""The check of `seek.into-batch-carries-ack-set`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER
from assay_conformance.pulsar.checks.seek.into_batch_carries_ack_set import into_batch_carries_ack_set


def _sought_into_a_batch(*ack_set: int) -> Consuming:
    story = Consuming("Exclusive")
    story.gets_batch(0, 5)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 2, 5]})
    story.up("SEEK", consumer_id=0, request_id=99, ack_sets=(ack_set,) if ack_set else ())
    return story


def test_seek_into_a_batch_names_what_is_behind() -> None:
    assert _sought_into_a_batch(0b11100).judged(into_batch_carries_ack_set) == ([], 1)


@pytest.mark.parametrize("ack_set", [(), (0b11000,), (0b00011,)], ids=["none", "one-too-few", "reversed"])
def test_seek_into_a_batch_that_names_something_else_is_found(ack_set: tuple[int, ...]) -> None:
    assert _sought_into_a_batch(*ack_set).judged(into_batch_carries_ack_set)[0] == ["wrong-bits"]


def test_bits_of_a_seek_that_had_company_are_anybodys() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 5)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 2, 5]})
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 4, 5]})
    story.up("SEEK", consumer_id=0, request_id=99, ack_sets=((0b11100,),))
    assert story.judged(into_batch_carries_ack_set) == ([], 0)
