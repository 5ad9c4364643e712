"""What every part of one client shares: the time of the current input, timers, the sink, and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar

from assay_conformance.client.callbacks import Callbacks
from assay_conformance.client.listening import HandlerThread, HandlerThreads
from assay_conformance.client.settings import ClientSettings
from assay_conformance.client.supplier import Supplier
from assay_conformance.client.timers import Timer, Timers
from assay_conformance.client.values import ClientSink, Result
from assay_conformance.model.overrides import Overrides

MS = 1_000_000

T = TypeVar("T")

_PRIVATE = 1 << 62
"""Operations from here on are the client's own: no application counts so far."""


class Shared:
    """`now_ns` is the time of the input being handled; `unix_ms` the wall clock at now_ns = 0.

    Every part makes its own parts through `implementation`, so that any of them can be overridden.
    """

    def __init__(
        self,
        sink: ClientSink,
        settings: ClientSettings,
        *,
        unix_ms: int,
        jitter: Callable[[], float],
        overrides: Overrides,
    ) -> None:
        self.now_ns = 0
        self.sink = sink
        self.settings = settings
        self.timers = Timers()
        self.jitter = jitter
        self.overrides = overrides
        self.handler_threads = overrides.of(HandlerThreads)(settings.listener_threads, overrides.of(HandlerThread))
        self.callbacks = overrides.of(Callbacks)()
        self.memory_bytes = 0
        self.memory_waiters: list[Callable[[], None]] = []
        self._unix_ms = unix_ms
        self.supplier = self.implementation(Supplier)(settings)
        self._private: dict[int, Callable[[Result], None]] = {}
        self._private_ops = itertools.count(_PRIVATE)
        self.request_ids = itertools.count(1)
        self.producer_ids = itertools.count()
        self.consumer_ids = itertools.count()
        self.conn_numbers = itertools.count()

    def implementation(self, honest: type[T]) -> type[T]:
        """Return the class to make in place of `honest`: that one, unless it is overridden."""
        return self.overrides.of(honest)

    def unix_ms(self) -> int:
        return self._unix_ms + self.now_ns // MS

    def after(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        return self.timers.at(self.now_ns + delay_ns, action)

    def private_op(self, ended: Callable[[Result], None]) -> int:
        """Return an operation of the client itself: `ended` is called at its end, and the application is not."""
        op = next(self._private_ops)
        self._private[op] = ended
        return op

    def completed(self, op: int, result: Result) -> None:
        """Note that operation `op`, the application's or private, has ended."""
        ended = self._private.pop(op, None)
        if ended is None:
            self.sink.completed(op, result)
        else:
            ended(result)
