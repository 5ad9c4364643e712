"""A changed frame keeps its sender's hand: only what was changed has other bytes."""

from __future__ import annotations

from typing import Any

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import (
    BaseCommand,
    CommandType,
    Frame,
    LocalProtocolError,
    MessageMetadata,
    MetadataError,
    command,
    decode,
    encode,
    reencode,
)

# SEND, its message in front of its type: sequence_id 7, highest_sequence_id 9, producer_id 1, num_messages 2.
SEND = "320a" + "1007" + "3009" + "0801" + "1802" + "0000" + "0806"
METADATA = "2064" + "1807" + "1005" + "0a0170"
"""event_time is absent; replicated_from neither. publish_time 7, sequence_id 5, producer_name p; 4:100 first."""


def sized(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def framed(head: str, tail: bytes = b"") -> Frame:
    return decode(sized(sized(bytes.fromhex(head)) + tail))


def head_of(raw: bytes) -> str:
    return raw[8 : 8 + int.from_bytes(raw[4:8], "big")].hex()
