"""What the bench stores itself has the fields that released clients write, and no others but what a Case names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.broker.raw import StoredEntry
from assay_conformance.cases.stored import batch, chunks, compressed, plain
from assay_conformance.wire import decode_batch

ALWAYS = frozenset({"producer_name", "sequence_id", "publish_time"})
"""Read off recorded traffic of the Java, C++, Go and Rust clients."""
ONE_CHUNK = ALWAYS | {"uncompressed_size", "uuid", "chunk_id", "num_chunks_from_msg", "total_chunk_msg_size"}


def _metadata(entry: dict[str, Any]) -> Any:
    return msgspec.convert(entry, StoredEntry).payload_frame(0, 1_000).metadata


@pytest.mark.parametrize(
    ("entry", "fields"),
    [
        (plain(0), ALWAYS | {"uncompressed_size"}),
        (batch([0, 1]), ALWAYS | {"num_messages_in_batch"}),
        (compressed("LZ4", plain(0)), ALWAYS | {"uncompressed_size", "compression"}),
        (compressed("LZ4", batch([0, 1])), ALWAYS | {"uncompressed_size", "compression", "num_messages_in_batch"}),
        *((chunk, ONE_CHUNK) for chunk in chunks(0, 3)),
    ],
)
def test_entries_have_the_fields_that_clients_write(entry: dict[str, Any], fields: frozenset[str]) -> None:
    assert {field.name for field, _ in _metadata(entry).ListFields()} == fields


def test_each_chunk_has_the_size_of_the_whole_message() -> None:
    assert [_metadata(chunk).uncompressed_size for chunk in chunks(0, 3, size=3_001)] == [3_001] * 3


def test_members_have_a_size_and_a_sequence_id() -> None:
    frame = msgspec.convert(batch([4, 5]), StoredEntry).payload_frame(0, 1_000)
    members = decode_batch(bytes(frame.data), 2)
    fields = [{field.name for field, _ in member.metadata.ListFields()} for member in members]
    assert fields == [{"payload_size", "sequence_id"}] * 2
