"""The second look at what no tool reports: a connection of our own on the way of the clients, and what happened to it.

It goes through whatever stands between clients and a broker, and ends at the forwarder behind that.
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
    """The toxic did not do what it is for; the text says what was seen in its place."""


class ProbePath:
    """The path of a client for one probe connection: through the proxy that listens at `host`, `port`, to `tap`."""

    def __init__(self, host: str, port: int, tap: Forwarder) -> None:
        self._address = (host, port)
        self._ends: list[Stream] = []
        self._mark, self._expected = tap.expect()

    async def dial(self, payload: bytes | None = b"") -> Stream:
        """The client's end. It has written its mark and `payload`; None: nothing."""
        near = self._kept(Stream(*await asyncio.open_connection(*self._address)))
        if payload is not None:
            near.writer.write(self._mark + payload)
        return near

    async def met(self) -> Stream:
        """The broker's end, once the mark came through. UnseenError when it does not."""
        try:
            async with timeout_awake(SEEN_WITHIN_S):
                return self._kept(await self._expected)
        except TimeoutError as error:
            raise UnseenError(f"nothing came through within {SEEN_WITHIN_S:g} s") from error

    async def pair(self) -> tuple[Stream, Stream]:
        """Both ends, through a proxy that lets bytes pass."""
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
    """Nothing is wrong any more: a byte goes there and back."""
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
    """What the first connection saw that saw it. HarnessError, which names `what`, when none did."""
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
