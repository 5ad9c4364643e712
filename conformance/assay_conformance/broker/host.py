"""What all parts of one cluster share: the instant, the deadlines, the way out, and which classes are overridden."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from assay_conformance.broker.timers import NS_PER_MS, Timer, Timers
from assay_conformance.model.case import Topology
from assay_conformance.model.event import MessageId
from assay_conformance.model.overrides import Overrides
from assay_conformance.wire import Frame, Payload

T = TypeVar("T")


class ClusterSink(Protocol):
    """Where a cluster's effects go. It must not call back into the cluster from inside one of these."""

    def send(self, conn: int, frame: Frame) -> None:
        """Send a frame to the client."""

    def close(self, conn: int) -> None:
        """Close the connection, after what was sent before."""

    def pause_reading(self, conn: int) -> None:
        """Stop reading this connection; frames that still come in wait inside the cluster."""

    def resume_reading(self, conn: int) -> None:
        """Read this connection again."""

    def is_writable(self, conn: int) -> bool:
        """Return whether entries may be sent to this connection; if not, `Cluster.drained` follows when they may."""

    def is_flooded(self, conn: int) -> bool:
        """Return whether the client leaves so much unread that its next commands have to wait.

        `Cluster.drained` follows when they need not. Such a connection is not writable.
        """

    def stored(self, topic: str, id: MessageId, payload: Payload) -> None:
        """Note an appended entry, with the topic's local name, or the full one if it is not in the topology."""


class Announced(NamedTuple):
    """What a broker says of itself in CONNECTED."""

    protocol_version: int
    max_message_bytes: int


class Host:
    """`now_ns` is the instant of the input being served; `unix_ms` was the wall clock at `started_ns`.

    `announced` and `tokens` are what the next CONNECT finds. Parts are made through `implementation`, so that any of
    them can be overridden.
    """

    __slots__ = (
        "_overrides",
        "_started_ns",
        "_unix_ms",
        "announced",
        "keep_alive_ms",
        "now_ns",
        "settings",
        "sink",
        "timers",
        "tokens",
    )

    def __init__(
        self,
        sink: ClusterSink,
        overrides: Overrides,
        now_ns: int,
        unix_ms: int,
        topology: Topology,
    ) -> None:
        self.settings = topology.settings
        self.keep_alive_ms = topology.keep_alive_ms
        self.announced = Announced(topology.protocol_version, topology.max_message_bytes)
        self.tokens = frozenset(token.encode() for token in topology.settings.tokens)
        self.sink = sink
        self.timers = Timers()
        self.now_ns = now_ns
        self._overrides = overrides
        self._started_ns = now_ns
        self._unix_ms = unix_ms

    def implementation(self, honest: type[T]) -> type[T]:
        """Return the class to make in place of `honest`: that one, unless it is overridden."""
        return self._overrides.of(honest)

    def after(self, delay_ms: float, action: Callable[[], None]) -> Timer:
        return self.timers.at(self.now_ns + int(delay_ms * NS_PER_MS), action)

    @property
    def unix_ms(self) -> int:
        """The wall clock of this instant."""
        return self._unix_ms + (self.now_ns - self._started_ns) // NS_PER_MS
