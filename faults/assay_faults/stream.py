"""One end of a TCP connection that carries frames: bytes in, cut into frames; frames out, gathered into few writes.

What is written before the connection is established, and its end, leave once it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from functools import partial, wraps
from operator import methodcaller
from typing import Concatenate, Final, ParamSpec, TypeVar, cast

from assay_conformance.wire import FramingError, Splitter
from assay_faults.network.protocols import Network

_EARLY_BYTES: Final = 1 << 16
"""What may wait for a connection to be made before its writer is asked to stop; an open one asks by its transport."""


S = TypeVar("S", bound="FrameStream")
P = ParamSpec("P")


def _reports_errors(method: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """Report an error raised by `method` to the owner of the link, and end the connection.

    An event loop would only log the error and end the connection, which would look as if the network had done it.
    """

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.broke(error)

    return guarded


class FrameStream(asyncio.Protocol):
    """Base of the shells on both sides of a link, which handle what is received. `broke` is called with unexpected
    errors."""

    def __init__(self, network: Network, max_frame_bytes: int, broke: Callable[[Exception], None]) -> None:
        self._network = network
        self._broke = broke
        self._splitter = Splitter(max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._at_last: Callable[[asyncio.Transport], None] | None = None
        self._out: list[bytes] = []
        self._early_bytes = 0
        self._flush_is_due = False
        self._corked = False
        self._reasons: set[Hashable] = set()

    # --- what happens ---

    def made(self) -> None:
        """Handle a connection that has been established."""

    def arrived(self, raw: bytes) -> None:
        """Handle a whole frame that was received."""
        raise NotImplementedError

    def garbage(self, error: FramingError) -> None:
        """Handle bytes that are no frame; nothing after them can be one."""
        raise NotImplementedError

    def settled(self) -> None:
        """Handle the end of a read: all of its frames have been reported."""

    def lost(self, error: Exception | None) -> None:
        """Handle the end of the connection; `error` says why, unless one side simply closed it."""
        raise NotImplementedError

    def choked(self) -> None:
        """Handle written bytes that pile up here."""

    def freed(self) -> None:
        """Handle that the bytes which had piled up have left."""

    @property
    def peer(self) -> tuple[str, int] | None:
        """The address of the other side, where it has one."""
        found = None if self._transport is None else self._transport.get_extra_info("peername")
        return (str(found[0]), int(found[1])) if isinstance(found, tuple) and len(found) > 1 else None

    # --- what to do ---

    def write(self, data: bytes) -> None:
        """Write these bytes with the others of this turn of the loop, or with the next `flush`."""
        self._out.append(data)
        if self._transport is None:
            self._early_bytes += len(data)
            if self._early_bytes > _EARLY_BYTES:
                self.choked()
        elif not self._flush_is_due and not self._corked:
            self._flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush_due)

    def write_piece(self, data: bytes) -> None:
        """Write these bytes as a segment of their own."""
        if self._transport is None:
            self.write(data)
            return
        self.flush()
        # One that its peer has reset is closed before it is reported, and uvloop refuses what asyncio passes over.
        if not self._transport.is_closing():
            self._transport.write(data)

    def flush(self) -> None:
        """Write now what was gathered."""
        out = self._out
        if out and self._transport is not None:
            if not self._transport.is_closing():
                self._transport.write(out[0] if len(out) == 1 else b"".join(out))
            # What comes after the end never leaves.
            out.clear()

    def cork(self) -> None:
        """Gather what is written until `uncork`."""
        self._corked = True

    def uncork(self) -> None:
        """Write now what was gathered, without another turn of the loop."""
        self._corked = False
        self.flush()

    def hold(self, reason: Hashable) -> None:
        """Stop reading until every reason to do so has been released."""
        self._reasons.add(reason)
        if len(self._reasons) == 1 and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def release(self, reason: Hashable) -> None:
        """Drop a reason not to read; read again when it was the last one."""
        if reason not in self._reasons:
            return
        self._reasons.remove(reason)
        if not self._reasons and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    @property
    def can_be_half_open(self) -> bool:
        """Whether one direction can end without the other."""
        return self._transport is not None and self._transport.can_write_eof()

    @property
    def pending_bytes(self) -> int:
        """How many bytes of a frame that is not whole are held."""
        return self._splitter.pending_bytes

    @property
    def unread_bytes(self) -> int:
        """How many written bytes have not left."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def bound_unread(self, most_bytes: int) -> None:
        """Call `choked` when `most_bytes` are unread, and `freed` when a quarter of that is left."""
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=most_bytes)

    def take_pending(self) -> bytes:
        """Take the incomplete frame at the end of what was received."""
        return self._splitter.take_pending()

    def half_close(self) -> None:
        """Send FIN after everything written; go on reading where the connection can be half open."""
        self._end(_half_close)

    def finish(self) -> None:
        """Close the connection with FIN after everything written."""
        self._end(methodcaller("close"))

    def reset(self, *, abrupt: bool) -> None:
        """Send RST, after what was written unless `abrupt`."""
        if abrupt:
            self._out.clear()
        self._end(partial(self._network.reset, abrupt=abrupt))

    def drop(self) -> None:
        """End the connection at once; what was written may be lost."""
        self._out.clear()
        self._end(methodcaller("abort"))

    def forget_unread(self) -> None:
        """Do not wait for the other side to read what is unread, though the connection ended in good order."""
        if self._transport is not None and self.unread_bytes:
            self._transport.abort()

    def broke(self, error: Exception) -> None:
        """Report an error of the bench and end the connection: nothing that it carries can be trusted any more."""
        self._broke(error)
        self._end(methodcaller("abort"))

    # --- asyncio.Protocol ---

    @_reports_errors
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are Transports in all but descent.
        self._transport = cast(asyncio.Transport, transport)
        if self._reasons:
            self._transport.pause_reading()
        self.made()
        self.flush()
        if self._early_bytes > _EARLY_BYTES:
            self.freed()
        if self._at_last is not None:
            self._at_last(self._transport)

    @_reports_errors
    def data_received(self, data: bytes) -> None:
        failure: FramingError | None = None
        try:
            frames = self._splitter.feed(data)
        except FramingError as error:
            frames, failure = error.frames, error
        for raw in frames:
            self.arrived(raw)
        if failure is not None:
            self.garbage(failure)
        self.settled()

    @_reports_errors
    def connection_lost(self, exc: Exception | None) -> None:
        # What was gathered for this turn has nowhere to go any more.
        self._out.clear()
        self.lost(exc)

    @_reports_errors
    def pause_writing(self) -> None:
        self.choked()

    @_reports_errors
    def resume_writing(self) -> None:
        self.freed()

    # --- small things ---

    def _end(self, how: Callable[[asyncio.Transport], None]) -> None:
        self._at_last = how
        if self._transport is not None and not self._transport.is_closing():
            self.flush()
            how(self._transport)

    @_reports_errors
    def _flush_due(self) -> None:
        self._flush_is_due = False
        self.flush()


def _half_close(transport: asyncio.Transport) -> None:
    if transport.can_write_eof():
        transport.write_eof()
    else:
        transport.close()
