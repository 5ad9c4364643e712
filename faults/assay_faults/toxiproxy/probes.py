"""The second look at a toxic: a connection of our own through the same proxy, and what happened to it.

toxiproxy does not report when a toxic acts. So every fault is tried on connections of our own before it counts as
having happened: each probe here is about one action, and returns what it measured, or raises `UnseenError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from assay_conformance.model.direction import Direction
from assay_conformance.model.outside import (
    Bandwidth,
    Disable,
    Latency,
    LimitData,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
)
from assay_faults.awake import timeout_awake
from assay_faults.bounds import SEEN_WITHIN_S
from assay_faults.fault_probe import BYTE, Facts, ProbePath, UnseenError, now_ms, read, rounded
from assay_faults.forwarder import Stream

_SILENCE_MS: Final = 50
"""How long nothing has to come before it counts as nothing."""
_WATCHED_MS: Final = 1_000
"""An end that is further off than this is not waited for: silence has to do."""
_PROBED_RATE_MS: Final = 50
_TIMER_MS: Final = 1
_READBYTES: Final = 1 << 16


async def _latency(action: Latency, way: ProbePath) -> Facts:
    took_ms = await _carry(way, action.direction, 1)
    if took_ms < max(0, action.latency_ms - action.jitter_ms) - _TIMER_MS:
        raise UnseenError(f"a byte took {took_ms} ms")
    return {"took_ms": took_ms}


async def _bandwidth(action: Bandwidth, way: ProbePath) -> Facts:
    size = max(1, action.rate_kb_s * _PROBED_RATE_MS)
    took_ms = await _carry(way, action.direction, size)
    if took_ms < _PROBED_RATE_MS * 0.8:
        raise UnseenError(f"{size} bytes took {took_ms} ms")
    return {"bytes": size, "took_ms": took_ms}


async def _slow_close(action: SlowClose, way: ProbePath) -> Facts:
    near, far = await way.pair()
    leaving, staying = (near, far) if action.direction is Direction.TO_BROKER else (far, near)
    since_ms = now_ms()
    leaving.writer.close()
    if action.delay_ms > _WATCHED_MS:
        return await _silence(staying, _SILENCE_MS)
    how = await _end(staying, action.delay_ms / 1000 + SEEN_WITHIN_S)
    took_ms = rounded(since_ms)
    if took_ms < action.delay_ms - _TIMER_MS:
        raise UnseenError(f"the end came after {took_ms} ms")
    return {"end": how, "took_ms": took_ms}


async def _timeout(action: Timeout, way: ProbePath) -> Facts:
    since_ms = now_ms()
    near = await _said(action.direction, way)
    if not 0 < action.timeout_ms <= _WATCHED_MS:
        return await _silence(near, _SILENCE_MS)
    how = await _end(near, action.timeout_ms / 1000 + SEEN_WITHIN_S)
    return {"end": how, "took_ms": rounded(since_ms)}


async def _reset_peer(action: ResetPeer, way: ProbePath) -> Facts:
    since_ms = now_ms()
    near = await _said(action.direction, way)
    if action.timeout_ms > _WATCHED_MS:
        return await _silence(near, _SILENCE_MS)
    how = await _end(near, action.timeout_ms / 1000 + SEEN_WITHIN_S)
    if how != "reset":
        raise UnseenError(f"the connection ended by {how}")
    return {"end": how, "took_ms": rounded(since_ms)}


async def _slicer(action: Slicer, way: ProbePath) -> Facts:
    near, far = await way.pair()
    source, sink = (near, far) if action.direction is Direction.TO_BROKER else (far, near)
    size = min(16 * action.average_bytes, _READBYTES)
    source.writer.write(bytes(size))
    pieces = await _pieces(sink, size)
    # Without a pause between them the kernel may put pieces together again.
    if action.delay_us and len(pieces) < 2:
        raise UnseenError(f"{size} bytes came in one piece")
    return {"bytes": size, "pieces": len(pieces), "largest_bytes": max(pieces)}


async def _limit_data(action: LimitData, way: ProbePath) -> Facts:
    limit = action.limit_bytes
    if action.direction is Direction.TO_BROKER:
        # One byte more than may pass, the mark included.
        near = await way.dial(bytes(limit))
        sink, got = (await way.met(), 1) if limit else (near, 0)
    else:
        sink, far = await way.pair()
        far.writer.write(bytes(limit + 1))
        got = 0
    got += await _all(sink)
    if got != limit:
        raise UnseenError(f"{got} bytes came, and then the end")
    return {"bytes": got, "end": "fin"}


async def _disable(action: Disable, way: ProbePath) -> Facts:
    del action
    try:
        await way.dial(None)
    except ConnectionRefusedError:
        return {"refused": True}
    raise UnseenError("a connection was accepted")


async def _said(direction: Direction, way: ProbePath) -> Stream:
    """Return the client's end of a connection on which a byte was sent in this direction; the mark counts as one."""
    if direction is Direction.TO_BROKER:
        return await way.dial()
    near, far = await way.pair()
    far.writer.write(BYTE)
    return near


async def _carry(way: ProbePath, direction: Direction, size: int) -> float:
    """Return how many milliseconds `size` bytes took. Bytes from the client include the mark."""
    since_ms = now_ms()
    if direction is Direction.TO_BROKER:
        await way.dial(bytes(size - 1))
        await read(await way.met(), size - 1)
        return rounded(since_ms)
    near, far = await way.pair()
    since_ms = now_ms()
    far.writer.write(bytes(size))
    await read(near, size)
    return rounded(since_ms)


async def _pieces(end: Stream, size: int) -> list[int]:
    pieces: list[int] = []
    async with timeout_awake(SEEN_WITHIN_S):
        while sum(pieces) < size and (data := await end.reader.read(_READBYTES)):
            pieces.append(len(data))
    return pieces or [0]


async def _all(end: Stream) -> int:
    """Return how many bytes came until the end."""
    got = 0
    try:
        async with timeout_awake(SEEN_WITHIN_S):
            while data := await end.reader.read(_READBYTES):
                got += len(data)
    except TimeoutError as error:
        raise UnseenError(f"{got} bytes came, and no end") from error
    except ConnectionResetError:
        pass
    return got


async def _silence(end: Stream, silence_ms: int) -> Facts:
    """Prove that for `silence_ms` neither a byte nor the end comes."""
    try:
        async with asyncio.timeout(silence_ms / 1000):
            data = await end.reader.read(_READBYTES)
    except TimeoutError:
        return {"silent_ms": silence_ms}
    except ConnectionResetError:
        raise UnseenError("the connection was reset at once") from None
    raise UnseenError(f"{len(data)} bytes came" if data else "the connection ended at once")


async def _end(end: Stream, patience_s: float) -> str:
    """Return how the connection ended. Raise UnseenError if a byte came first, or no end came in time."""
    try:
        async with timeout_awake(patience_s):
            data = await end.reader.read(_READBYTES)
    except TimeoutError as error:
        raise UnseenError(f"no end came within {patience_s:g} s") from error
    except ConnectionResetError:
        return "reset"
    if data:
        raise UnseenError(f"{len(data)} bytes came")
    return "fin"


PROBES: Final[Mapping[type, Callable[[Any, ProbePath], Awaitable[Facts]]]] = {
    Latency: _latency,
    Bandwidth: _bandwidth,
    SlowClose: _slow_close,
    Timeout: _timeout,
    ResetPeer: _reset_peer,
    Slicer: _slicer,
    LimitData: _limit_data,
    Disable: _disable,
}
"""Action -> what shows that it acts."""
