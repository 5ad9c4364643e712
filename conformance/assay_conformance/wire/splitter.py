"""A stream of bytes, cut anywhere by the network, into whole raw frames."""

from __future__ import annotations

from typing import Final

from assay_conformance.wire.errors import FramingError
from assay_conformance.wire.payload import SIZE

DEFAULT_MAX_MESSAGE_BYTES: Final = 5 * 1024 * 1024
"""CONNECTED.max_message_size of a broker that was not told otherwise."""
FRAME_PADDING_BYTES: Final = 10 * 1024
"""What a frame may exceed max_message_size by, to hold the command and the metadata."""
DEFAULT_MAX_FRAME_BYTES: Final = DEFAULT_MAX_MESSAGE_BYTES + FRAME_PADDING_BYTES


class Splitter:
    """Holds at most one unfinished frame, and never more than `max_frame_bytes` and four.

    `max_frame_bytes` bounds totalSize. A client lowers or raises it once CONNECTED has told max_message_size.
    """

    __slots__ = ("_failure", "_pending", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._pending = bytearray()
        self._failure: str | None = None

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames completed by these bytes, in order.

        Raises FramingError, with the frames before it, for a totalSize above the limit or too small for a command
        size, as soon as its four bytes are known; and again whenever more is fed, for the stream is lost.
        """
        frames: list[bytes] = []
        if self._failure is not None:
            raise FramingError(self._failure, frames, data)
        start = self._finish_pending(data, frames) if self._pending else 0
        length = len(data)
        while length - start >= SIZE.size:
            end = start + self._frame_bytes(data, start, frames)
            if end > length:
                break
            frames.append(data[start:end])
            start = end
        if start < length:
            self._pending += data[start:]
        return frames

    def take_pending(self) -> bytes:
        """The bytes of an unfinished frame, which are held no longer: the stream has ended."""
        pending = bytes(self._pending)
        self._pending.clear()
        return pending

    def _finish_pending(self, data: bytes, frames: list[bytes]) -> int:
        """Complete the unfinished frame as far as data goes; how many bytes of data it took."""
        pending = self._pending
        taken = 0
        if len(pending) < SIZE.size:
            taken = min(SIZE.size - len(pending), len(data))
            pending += data[:taken]
            if len(pending) < SIZE.size:
                return taken
        try:
            missing = self._frame_bytes(pending, 0, frames) - len(pending)
        except FramingError as error:
            error.rest += data[taken:]
            pending.clear()
            raise
        part = data[taken : taken + missing]
        if len(part) < missing:
            pending += part
        else:
            frames.append(bytes(pending) + part)
            pending.clear()
        return taken + len(part)

    def _frame_bytes(self, data: bytes | bytearray, start: int, frames: list[bytes]) -> int:
        total_size: int = SIZE.unpack_from(data, start)[0]
        if not SIZE.size <= total_size <= self.max_frame_bytes:
            self._failure = f"stream: expected a totalSize from 4 to {self.max_frame_bytes}, got {total_size}"
            raise FramingError(self._failure, frames, bytes(data[start:]))
        return SIZE.size + total_size
