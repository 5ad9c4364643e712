"""Packets late, lost, doubled, overtaken, damaged or blocked: client -> network -> tap -> frame link -> broker.

The receipt of a fault is what connections of our own met, with what became of the packets meanwhile; that of its end
counts all packets while it stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.direction import Direction
from assay_conformance.model.fault import Action, Fault
from assay_conformance.model.outside import OnNetwork, Partition, Shape
from assay_faults.fault_probe import Facts, ProbePath, UnseenError, now_ms, read, rounded
from assay_faults.forwarder import Forwarder
from assay_faults.ingress import Ingress, IngressInjector, tag
from assay_faults.namespaces.devices import require
from assay_faults.namespaces.netem import UNSHAPED, Counts
from assay_faults.namespaces.network import Network

_SILENCE_MS: Final = 60
_PROBE_BYTES: Final = 20_000
_RATE_MS: Final = 50
_TIMER_MS: Final = 1

# Effect of a Shape -> its count.
_COUNTED: Final = {"loss": "lost", "duplicate": "doubled", "reorder": "overtaken", "corrupt": "damaged"}


@dataclass(slots=True, eq=False, kw_only=True)
class NetworkFront(Ingress[Counts]):
    """A network of its own."""

    network: Network

    def carried(self) -> Counts:
        return self.network.total()

    def apply(self) -> None:
        """Let the packets meet what stands."""
        for direction in Direction:
            shape, partitioned = in_force(self.standing.values(), direction)
            self.network.change(direction, shape=shape, partitioned=partitioned)


class NamespaceInjector(IngressInjector[NetworkFront]):
    """`Injector` of the means `namespaces`."""

    tries = 60  # until chance has hit a packet of one

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        require()
        await super().prepare(faults)

    async def open(self, host: str, port: int) -> NetworkFront:
        network = Network(seed=len(self.fronts))
        tap = Forwarder(host, port)
        try:
            address = await tap.start(await asyncio.to_thread(network.start))
        except BaseException:
            network.close()
            raise
        near_host, _, near_port = address.rpartition(":")
        return NetworkFront(tap=tap, host=near_host, port=int(near_port), network=network)

    async def take_down(self, front: NetworkFront) -> None:
        await asyncio.to_thread(front.network.close)

    async def place(self, front: NetworkFront, fault: int) -> None:
        del fault
        front.apply()

    remove = place

    async def look(self, front: NetworkFront, fault: int) -> Facts:
        action = front.standing[fault]
        assert isinstance(action, OnNetwork)

        async def seen(way: ProbePath) -> Facts:
            facts = await (_blocked(way) if isinstance(action, Partition) else _shaped(action, way))
            return facts | _counted(action, front.carried().since(front.before[fault]))

        return await self.proven(front, seen, f"{tag(self.faults[fault])} of packets")


def in_force(standing: Iterable[Action], direction: Direction) -> tuple[Shape, bool]:
    """Return what packets of a direction meet: the last shape in force, and whether a partition is in force."""
    shape, partitioned = UNSHAPED, False
    for action in standing:
        assert isinstance(action, OnNetwork)
        if action.direction not in (None, direction):
            continue
        if isinstance(action, Partition):
            partitioned = True
        else:
            shape = action
    return shape, partitioned


async def _blocked(way: ProbePath) -> Facts:
    """Prove that no connection can be established."""
    try:
        async with asyncio.timeout(_SILENCE_MS / 1000):
            await way.dial(None)
    except TimeoutError:
        return {"silent_ms": _SILENCE_MS}
    raise UnseenError("a connection came about")


async def _shaped(action: Shape, way: ProbePath) -> Facts:
    """Prove that a connection is as late as it should be, and carries bytes both ways no faster than it may."""
    since_ms = now_ms()
    near, far = await way.pair()
    took_ms = rounded(since_ms)
    if took_ms < max(0, action.delay_ms - action.jitter_ms) - _TIMER_MS:
        raise UnseenError(f"a connection came about within {took_ms} ms")
    size = action.rate_kb_s * _RATE_MS or _PROBE_BYTES
    since_ms = now_ms()
    for source, sink in ((near, far), (far, near)):
        source.writer.write(bytes(size))
        await read(sink, size)
    carried_ms = rounded(since_ms)
    if action.rate_kb_s and carried_ms < _RATE_MS * 0.8:
        raise UnseenError(f"{size} bytes each way took {carried_ms} ms")
    return {"connected_ms": took_ms, "bytes": 2 * size, "took_ms": carried_ms}


def _counted(action: OnNetwork, since: Counts) -> Facts:
    """Return how many packets met each effect of the action.

    Raise UnseenError when no packet met one of them.
    """
    if isinstance(action, Partition):
        counts: Facts = {"blocked": since.blocked}
    else:
        counts = {count: getattr(since, count) for effect, count in _COUNTED.items() if getattr(action, effect)}
    for name, number in counts.items():
        if not number:
            raise UnseenError(f"no packet was {name}")
    return counts
