"""Embedded brokers behind a frame proxy, as a site of their own: the proxy's link is the Case's, the inner one idle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

import msgspec
import pytest
import uvloop

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.case import Config
from assay_conformance.model.event import Cursor, Event, Opened, ReadBack, Stored
from assay_conformance.model.fault import Fault
from assay_faults.network import MemoryNetwork, Network, SocketNetwork
from assay_faults.proxy import FrameProxy
from assay_faults.proxy.tls import Tls
from assay_fixtures.brokers.contract import Host, Order
from assay_fixtures.brokers.embedded import EmbeddedSite, EmbeddedWorld, full_topics
from assay_fixtures.clock import run_virtual

E = TypeVar("E")
DEADLINE_S = 5
RUNNERS: dict[str, Callable[[Coroutine[Any, Any, None]], None]] = {
    "memory": run_virtual,
    "socket": asyncio.run,
    "uvloop": uvloop.run,
}
TURNS_TO_THE_PROXY = 3
"""Of the event loop: gathered, written, read."""
OF_THE_BROKER = (Stored, ReadBack, Cursor)


class BehindProxy:
    """World. `reached` counts the connections that came to its brokers, by whichever way."""

    def __init__(self, order: Order, inside: Network | None, tls: Tls | None) -> None:
        topology = order.case.topology
        self.topics = full_topics(topology, order.name)
        self.client_config: Config = {} if tls is None else {"tls_trust_certs": str(tls.trust_certs)}
        self.host = Host()
        self.reached = 0
        self._recorder = order.recorder
        inner = Recorder(order.now_ns, self._told)
        overrides, network = order.overrides, order.network
        self.embedded = EmbeddedWorld(
            topology, (), self.topics, inner, inside or network, order.now_ns, order.unix_ms, overrides
        )
        self.proxy = FrameProxy(
            order.case.faults,
            self.topics,
            order.recorder,
            network,
            order.now_ns,
            max_frame_bytes=self.embedded.max_frame_bytes,
            outside=order.outside,
            front=order.front,
            tls=tls,
        )
        self.link = self.proxy.link
        self.step_done = self.proxy.step_done
        self.heal = self.proxy.heal

    def _told(self, event: Event) -> None:
        self.reached += isinstance(event, Opened)
        if isinstance(event, OF_THE_BROKER):
            fields = msgspec.structs.asdict(event)
            del fields["seq"], fields["t_ns"]
            self._recorder.add(type(event), **fields)

    @property
    def service_url(self) -> str:
        return self.proxy.urls[0]

    async def start(self) -> None:
        await self.embedded.start()
        await self.proxy.start(self.embedded.urls)

    async def command(self, verb: str, args: dict[str, Any]) -> None:
        self.embedded.command(verb, args)
        # A command is done when what the broker tells its clients about it has reached the proxy.
        for _ in range(TURNS_TO_THE_PROXY):
            await asyncio.sleep(0)

    def prove(self) -> None:
        self.proxy.prove()
        self.embedded.prove()

    async def read_back(self) -> None:
        self.embedded.read_back()

    async def close(self) -> None:
        self.proxy.close()
        self.embedded.close()


class ProxiedSite(EmbeddedSite):
    """Keeps the worlds it made. `inside`: where brokers listen, if not where the proxy does; `tls` is the proxy's."""

    def __init__(self, inside: Network | None = None, tls: Tls | None = None) -> None:
        self.worlds: list[BehindProxy] = []
        self._inside = inside
        self._tls = tls

    def world(self, order: Order) -> BehindProxy:  # type: ignore[override]
        self.worlds.append(BehindProxy(order, self._inside, self._tls))
        return self.worlds[-1]


@pytest.fixture(scope="session")
def proxied() -> type[ProxiedSite]:
    return ProxiedSite


# --- a proxy between two ears ----------------------------------------------------------------------------------------


class Ear(asyncio.Protocol):
    """Keeps what it hears, and stays half open."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.eof = False
        self.lost: list[Exception | None] = []
        self.made = asyncio.Event()
        self.changed = asyncio.Event()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.made.set()

    def data_received(self, data: bytes) -> None:
        self.heard += data
        self.changed.set()

    def eof_received(self) -> bool:
        self.eof = True
        self.changed.set()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)
        self.changed.set()

    async def until(self, condition: Callable[[Ear], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition(self):
                self.changed.clear()
                await self.changed.wait()


class Tap:
    """A frame proxy with these faults in front of one server that is an ear."""

    def __init__(self, network: Network, faults: Sequence[Fault]) -> None:
        self.network = network
        self.events: list[Event] = []
        self._ears: asyncio.Queue[Ear] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def now_ns() -> int:
            return round(loop.time() * 1e9)

        self.proxy = FrameProxy(faults, {}, Recorder(now_ns, self.events.append), network, now_ns)

    async def start(self) -> None:
        self.server = await self.network.listen(self.accept)
        await self.proxy.start([self.server.url])

    def accept(self) -> Ear:
        ear = Ear()
        self._ears.put_nowait(ear)
        return ear

    async def client(self, broker: int = 0) -> Ear:
        near = Ear()
        await self.network.connect(lambda: near, self.proxy.urls[broker])
        return near

    async def connect(self, broker: int = 0) -> tuple[Ear, Ear]:
        """A client, and the server's end of its connection."""
        near = await self.client(broker)
        async with asyncio.timeout(DEADLINE_S):
            far = await self._ears.get()
            await far.made.wait()
        return near, far

    async def until_closed(self) -> None:
        """Until the proxy holds no connection any more."""
        async with asyncio.timeout(DEADLINE_S):
            while self.proxy.connections:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.001)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def _tapped(main: Callable[[Tap], Coroutine[Any, Any, None]], network: str, *faults: Fault) -> None:
    async def run() -> None:
        tap = Tap(MemoryNetwork() if network == "memory" else SocketNetwork(), faults)
        await tap.start()
        try:
            await main(tap)
        finally:
            tap.proxy.close()
            tap.server.close()

    RUNNERS[network](run())


@pytest.fixture(scope="session")
def tapped() -> Callable[..., None]:
    """Runs a test with a tap on a network: "memory", in virtual time, "socket", or "uvloop", the loop in real runs."""
    return _tapped
