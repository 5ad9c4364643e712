"""Several parts, such as the partitions of a topic, that end as one."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.values import Done, Result


class AllOf:
    """Calls `done` when `count` parts have ended: with the last result, or the first failure if there was one."""

    def __init__(self, count: int, done: Callable[[Result], None]) -> None:
        self._left = count
        self._done = done
        self._result: Result = Done()

    @classmethod
    def any_number(cls, count: int, done: Callable[[Result], None]) -> AllOf:
        """Return the end of several parts. Where there is none, `done` is called at once."""
        if not count:
            done(Done())
        return cls(count, done)

    def one(self, result: Result) -> None:
        self._left -= 1
        if isinstance(self._result, Done):
            self._result = result
        if self._left == 0:
            self._done(self._result)
