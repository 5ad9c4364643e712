"""The check of `batching.larger-batches-save-bytes`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.batching._closing import told, two_producers

from assay_conformance.history.script import MESSAGE_BYTES
from assay_conformance.pulsar.checks.batching.larger_batches_save_bytes import larger_batches_save_bytes


def test_larger_batches_of_fewer_bytes_are_accepted() -> None:
    assert told(larger_batches_save_bytes, two_producers(8 * MESSAGE_BYTES)) == ([], 1)


def test_larger_batches_of_more_bytes_are_found() -> None:
    assert told(larger_batches_save_bytes, two_producers(11 * MESSAGE_BYTES)) == (["more-bytes-a-message"], 0)


def test_two_in_a_hundred_are_within_what_sizes_scatter() -> None:
    assert told(larger_batches_save_bytes, two_producers(round(10.1 * MESSAGE_BYTES))) == ([], 1)


def test_batches_of_unlike_messages_are_not_compared() -> None:
    assert told(larger_batches_save_bytes, two_producers(11 * MESSAGE_BYTES, last_bytes=MESSAGE_BYTES + 1)) == ([], 0)
