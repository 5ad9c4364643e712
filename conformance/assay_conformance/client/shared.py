"""What every part of one client shares: the time it was told, timers, the sink, numbers, and its cheats if any."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable

from assay_conformance.client.mutations import MUTATIONS, Mutation
from assay_conformance.client.settings import ClientSettings
from assay_conformance.client.timers import Timer, Timers
from assay_conformance.client.values import ClientSink, Result

MS = 1_000_000

_PRIVATE = 1 << 62
"""Operations from here on are the client's own: no application counts so far."""


class Shared:
    """`now_ns` is the time of the input being handled; `unix_ms` the wall clock at now_ns = 0.

    `lateness_ms` overrides how far the time-bound mutations miss. `last_limit` is looked at by one mutation alone: the
    message limit that the last connection announced.
    """

    def __init__(
        self,
        sink: ClientSink,
        settings: ClientSettings,
        *,
        unix_ms: int,
        jitter: Callable[[], float],
        mutations: frozenset[Mutation],
        lateness_ms: int | None,
    ) -> None:
        self.now_ns = 0
        self.sink = sink
        self.settings = settings
        self.timers = Timers()
        self.jitter = jitter
        self.mutations = mutations
        self.memory_bytes = 0
        self.last_limit = 0
        self.memory_waiters: list[Callable[[], None]] = []
        self._unix_ms = unix_ms
        self._lateness_ms = lateness_ms
        self._tokens = deque((settings.tokens or "").split(",") if settings.tokens else ())
        self._private: dict[int, Callable[[Result], None]] = {}
        self._private_ops = itertools.count(_PRIVATE)
        self.request_ids = itertools.count(1)
        self.producer_ids = itertools.count()
        self.consumer_ids = itertools.count()
        self.conn_numbers = itertools.count()

    def token(self) -> bytes | None:
        """Credentials, fresh ones as long as there are some; None where there is no authentication."""
        if len(self._tokens) > 1 and not self.mutated(Mutation.REPEATS_CREDENTIALS):
            return self._tokens.popleft().encode()
        return self._tokens[0].encode() if self._tokens else None

    def unix_ms(self) -> int:
        return self._unix_ms + self.now_ns // MS

    def after(self, delay_ns: int, action: Callable[[], None]) -> Timer:
        return self.timers.at(self.now_ns + delay_ns, action)

    def private_op(self, ended: Callable[[Result], None]) -> int:
        """An operation of the client's own: `ended` hears of its end, and the application does not."""
        op = next(self._private_ops)
        self._private[op] = ended
        return op

    def completed(self, op: int, result: Result) -> None:
        """Operation `op`, the application's or private, has ended."""
        ended = self._private.pop(op, None)
        if ended is None:
            self.sink.completed(op, result)
        else:
            ended(result)

    def mutated(self, mutation: Mutation) -> bool:
        return mutation in self.mutations

    def lateness_ns(self, mutation: Mutation) -> int:
        """How far a time-bound mutation misses; 0 for a client without it."""
        if mutation not in self.mutations:
            return 0
        usual_ms = MUTATIONS[mutation].lateness_ms
        assert usual_ms is not None
        return (usual_ms if self._lateness_ms is None else self._lateness_ms) * MS
