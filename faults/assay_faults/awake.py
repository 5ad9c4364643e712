"""Time-outs that count only the time in which this process ran.

While the machine or this process stands still, nothing can be read: what was waited for may have been there all along.
asyncio's own time-out fires in the same turn in which the event loop would have seen it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

LOOK_S: Final = 0.05
"""From one look at the clock to the next, and at most this much counts: a loop that comes back later was late."""


class Awake:
    """How long this process ran, from look to look of any clock that never goes back."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.ran_s = 0.0
        self._now_s = now_s
        self._looked_s = now_s()

    def look(self) -> float:
        """Return how many seconds this process ran in all. Call this every LOOK_S."""
        now_s = self._now_s()
        self.ran_s += min(now_s - self._looked_s, LOOK_S)
        self._looked_s = now_s
        return self.ran_s


@contextlib.asynccontextmanager
async def timeout_awake(within_s: float) -> AsyncIterator[None]:
    """Do as `asyncio.timeout` does, but raise TimeoutError only after this process itself ran for `within_s`."""
    async with asyncio.timeout(None) as limit:
        ticking = asyncio.create_task(_expire(limit, within_s))
        try:
            yield
        finally:
            ticking.cancel()


async def _expire(limit: asyncio.Timeout, within_s: float) -> None:
    loop = asyncio.get_running_loop()
    awake = Awake(loop.time)
    while awake.look() < within_s:  # noqa: ASYNC110 - a clock sets no event
        await asyncio.sleep(min(LOOK_S, within_s - awake.ran_s))
    limit.reschedule(loop.time())
