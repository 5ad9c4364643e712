"""A stream of bytes, cut anywhere by the network, into whole raw frames."""

from __future__ import annotations

from typing import Final

from assay_conformance.wire.errors import FramingError
from assay_conformance.wire.payload import SIZE

DEFAULT_MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024
"""CONNECTED.max_message_size of a broker by default."""
FRAME_PADDING_BYTES: Final = 10 * 1024
"""What a frame may exceed max_message_size by, to hold the command and the metadata."""
DEFAULT_MAX_FRAME_BYTES: Final = DEFAULT_MAX_MESSAGE_BYTES + FRAME_PADDING_BYTES


_SMALL_BYTES: Final = 1 << 14
"""Pieces below this are put together as they come; larger ones wait for the frame, to be copied once."""


class Splitter:
    """Holds at most one unfinished frame, and never more than `max_frame_bytes` and four.

    `max_frame_bytes` bounds totalSize. A client lowers or raises it once CONNECTED has named max_message_size.
    """

    __slots__ = ("_expected", "_failure", "_held", "_pieces", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._pieces: list[bytes | bytearray] = []
        self._held = 0
        self._expected = 0
        self._failure: str | None = None

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return self._held

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames completed by these bytes, in order.

        Raises FramingError, with the frames before it, for a totalSize above the limit or too small for a command size,
        as soon as its four bytes are known; and again whenever more is fed, for the stream is lost.
        """
        frames: list[bytes] = []
        if self._failure is not None:
            raise FramingError(self._failure, frames, data)
        start = self._finish_pending(data, frames) if self._held else 0
        length = len(data)
        while length - start >= SIZE.size:
            end = start + self._frame_bytes(data, start, frames)
            if end > length:
                self._expected = end - start
                break
            frames.append(data[start:end])
            start = end
        if start < length:
            self._hold(data[start:])
        return frames

    def take_pending(self) -> bytes:
        """Return the bytes of an unfinished frame and drop them: the stream has ended."""
        pending = b"".join(self._pieces)
        self._pieces.clear()
        self._held = self._expected = 0
        return pending

    def _finish_pending(self, data: bytes, frames: list[bytes]) -> int:
        """Complete the unfinished frame as far as data goes; how many bytes of data it took."""
        taken = 0
        if not self._expected:
            taken = min(SIZE.size - self._held, len(data))
            self._hold(data[:taken])
            if self._held < SIZE.size:
                return taken
            head = b"".join(self._pieces)
            try:
                self._expected = self._frame_bytes(head, 0, frames)
            except FramingError as error:
                error.rest = self.take_pending() + data[taken:]
                raise
        part = data[taken : taken + self._expected - self._held]
        self._hold(part)
        if self._held == self._expected:
            frames.append(self.take_pending())
        return taken + len(part)

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if len(piece) >= _SMALL_BYTES:
            self._pieces.append(piece)
        elif self._pieces and isinstance(last := self._pieces[-1], bytearray):
            last += piece
        else:
            self._pieces.append(bytearray(piece))

    def _frame_bytes(self, data: bytes, start: int, frames: list[bytes]) -> int:
        total_size: int = SIZE.unpack_from(data, start)[0]
        if not SIZE.size <= total_size <= self.max_frame_bytes:
            self._failure = f"stream: expected a totalSize from 4 to {self.max_frame_bytes}, got {total_size}"
            raise FramingError(self._failure, frames, data[start:])
        return SIZE.size + total_size
