"""Entries for the broker verb store_entries: topics as a consumer finds them, whatever any producer would have written.

Every message is generated like those of agents, by producer handle `WRITER`, so that every witness knows it by number.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from assay_conformance.model.event import Identity
from assay_conformance.model.payload import generate

WRITER = 1_000
"""The producer handle of stored messages: none that a Case opens."""

NAME = "stored"
DEFAULT_BYTES = 64


def plain(number: int, size: int = DEFAULT_BYTES) -> dict[str, Any]:
    """Return an unbatched message."""
    return {"payload": _generated(number, size), "sequence_id": number, "producer_name": NAME}


def plains(numbers: Iterable[int]) -> list[dict[str, Any]]:
    return [plain(number) for number in numbers]


def batch(numbers: Iterable[int], size: int = DEFAULT_BYTES) -> dict[str, Any]:
    """Return one entry with these messages, as a C++ or Java producer would have batched them."""
    members = [{"payload": _generated(number, size), "sequence_id": number} for number in numbers]
    return {"members": members, "sequence_id": members[0]["sequence_id"], "producer_name": NAME}


def compressed(codec: str, entry: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return the same entry, its body compressed; `metadata` replaces what would be true of it."""
    return {**entry, "compression": codec, "metadata": metadata}


def garbled(codec: str, number: int, size: int = DEFAULT_BYTES) -> dict[str, Any]:
    """Return an unbatched message whose metadata names a compression that it does not have."""
    return {**plain(number, size), "metadata": {"compression": codec, "uncompressed_size": size}}


def bad_batch(number: int) -> dict[str, Any]:
    """Return an entry that announces three members and holds none."""
    return {
        "data": base64.b64encode(b"\xff" * 40).decode(),
        "sequence_id": number,
        "producer_name": NAME,
        "metadata": {"num_messages_in_batch": 3},
    }


def null_value(number: int) -> dict[str, Any]:
    return {"sequence_id": number, "producer_name": NAME, "metadata": {"null_value": True}}


def foreign_key(number: int) -> dict[str, Any]:
    """Return a message with a key that is no text."""
    key = base64.b64encode(b"\xff\xfe\x00").decode()
    return {**plain(number), "key": key, "metadata": {"partition_key_b64_encoded": True}}


def empties(number: int) -> dict[str, Any]:
    """Return a batch of nothing but empty messages."""
    members = [{"sequence_id": number}, {"sequence_id": number + 1, "metadata": {"null_value": True}}]
    return {"members": members, "sequence_id": number, "producer_name": NAME}


def chunks(number: int, pieces: int, size: int = 3_000) -> list[dict[str, Any]]:
    """Return message `number` in chunks 0 to `pieces - 1`, one entry each; a Case stores them in the order it wants."""
    data = generate(Identity(0, WRITER, number), size, number)
    step = -(-size // pieces)
    return [
        {
            "data": base64.b64encode(data[chunk * step : (chunk + 1) * step]).decode(),
            "sequence_id": number,
            "producer_name": NAME,
            "uuid": f"{NAME}-{number}",
            "chunk_id": chunk,
            "num_chunks_from_msg": pieces,
            "total_chunk_msg_size": size,
        }
        for chunk in range(pieces)
    ]


def _generated(number: int, size: int) -> dict[str, int]:
    return {"size": size, "seed": number, "handle": WRITER, "number": number}
