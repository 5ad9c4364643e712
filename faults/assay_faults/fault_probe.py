"""Probe connections: what happened to a connection of our own on the clients' path, which no tool reports.

A probe goes through all that is between clients and a broker, and ends at the forwarder behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from assay_conformance.model.errors import HarnessError
from assay_conformance.model.event import Fact
from assay_faults.awake import timeout_awake
from assay_faults.bounds import SEEN_WITHIN_S
from assay_faults.forwarder import Forwarder, Stream

Facts = dict[str, Fact]

BYTE: Final = b"!"


class UnseenError(Exception):
    """A fault was not seen to act; the message says what was seen instead."""


class ProbePath:
    """The path of a client for one probe connection: through the proxy that listens at `host`, `port`, to `tap`."""

    def __init__(self, host: str, port: int, tap: Forwarder) -> None:
        self._address = (host, port)
        self._ends: list[Stream] = []
        self._mark, self._expected = tap.expect()

    async def dial(self, payload: bytes | None = b"") -> Stream:
        """Connect, write the mark and `payload` (nothing at all if None), and return the client's end."""
        near = self._kept(Stream(*await asyncio.open_connection(*self._address)))
        if payload is not None:
            near.writer.write(self._mark + payload)
        return near

    async def met(self) -> Stream:
        """Return the broker's end once the mark has come through. Raise UnseenError when it does not."""
        try:
            async with timeout_awake(SEEN_WITHIN_S):
                return self._kept(await self._expected)
        except TimeoutError as error:
            raise UnseenError(f"nothing came through within {SEEN_WITHIN_S:g} s") from error

    async def pair(self) -> tuple[Stream, Stream]:
        """Connect through a proxy that lets bytes pass, and return both ends."""
        near = await self.dial()
        return near, await self.met()

    def close(self) -> None:
        self._expected.cancel()
        for end in self._ends:
            end.abort()

    def _kept(self, end: Stream) -> Stream:
        self._ends.append(end)
        return end


def now_ms() -> float:
    return asyncio.get_running_loop().time() * 1000


def rounded(since_ms: float) -> float:
    return round(now_ms() - since_ms, 1)


async def passes(way: ProbePath) -> Facts:
    """Prove that the fault is over: a byte goes there and back."""
    since_ms = now_ms()
    near, far = await way.pair()
    far.writer.write(BYTE)
    await read(near, 1)
    return {"round_trip_ms": rounded(since_ms)}


async def read(end: Stream, size: int) -> None:
    try:
        async with timeout_awake(SEEN_WITHIN_S):
            await end.reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError) as error:  # TimeoutError is one
        raise UnseenError(f"{size} bytes did not come whole: {error}") from error


async def proven(
    make: Callable[[], ProbePath], probe: Callable[[ProbePath], Awaitable[Facts]], what: str, tries: int = 1
) -> Facts:
    """Return what the first connection saw that met the fault.

    Raise HarnessError, naming `what`, when none of `tries` connections met it.
    """
    unseen: UnseenError | None = None
    for _ in range(tries):
        way = make()
        try:
            return await probe(way)
        except UnseenError as error:
            unseen = error
        except OSError as error:
            unseen = UnseenError(error.strerror or str(error))
        finally:
            way.close()
    raise HarnessError(f"{what} was not seen to act: {unseen}")
