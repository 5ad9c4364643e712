"""The splitter: any segmentation gives the same frames, and memory stays within the limit."""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import DEFAULT_MAX_FRAME_BYTES, CommandType, FramingError, Splitter, command, encode

PING = encode(command(CommandType.PING))
FLOW = encode(command(CommandType.FLOW, consumer_id=1, messagePermits=2))


def fed(splitter: Splitter, pieces: list[bytes]) -> tuple[list[bytes], bool]:
    """The frames that come out, and whether the stream ended in an error."""
    frames: list[bytes] = []
    for piece in pieces:
        try:
            frames += splitter.feed(piece)
        except FramingError as error:
            return frames + error.frames, True
    return frames, False


@given(st.lists(st.sampled_from([PING, FLOW, PING + b"\0\0\0\x03"]), max_size=6), st.lists(st.integers(0, 80)))
def test_segmentation_changes_nothing(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    places = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(places)]
    assert fed(Splitter(), pieces) == fed(Splitter(), [stream])


@pytest.mark.parametrize("total_size", [0, 3, DEFAULT_MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_impossible_total_size_is_refused(total_size: int) -> None:
    with pytest.raises(FramingError):
        Splitter().feed(struct.pack(">I", total_size))


@pytest.mark.parametrize("total_size", [4, DEFAULT_MAX_FRAME_BYTES])
def test_largest_and_smallest_total_size_are_awaited(total_size: int) -> None:
    splitter = Splitter()
    assert splitter.feed(struct.pack(">I", total_size)) == []
    assert splitter.pending_bytes == 4


def test_frames_before_a_bad_size_are_not_lost() -> None:
    with pytest.raises(FramingError) as caught:
        Splitter().feed(PING + FLOW + b"\0\0\0\0")
    assert caught.value.frames == [PING, FLOW]


def test_lost_stream_stays_lost() -> None:
    splitter = Splitter()
    fed(splitter, [b"\0\0\0\0"])
    with pytest.raises(FramingError) as caught:
        splitter.feed(PING)
    assert caught.value.frames == []


def test_pending_never_exceeds_the_limit() -> None:
    splitter = Splitter(max_frame_bytes=100)
    raw = struct.pack(">I", 100) + bytes(100)
    for piece in (raw[:50], raw[50:103]):
        assert splitter.feed(piece) == []
        assert splitter.pending_bytes <= 104
    assert splitter.feed(raw[103:] + raw) == [raw, raw]
    assert splitter.pending_bytes == 0


def test_raised_limit_admits_larger_frames() -> None:
    splitter = Splitter(max_frame_bytes=len(PING) - 5)
    splitter.max_frame_bytes = len(PING) - 4
    assert splitter.feed(PING) == [PING]
