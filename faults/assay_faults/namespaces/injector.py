"""Packets late, lost, doubled, overtaken, damaged or blocked: client -> network -> tap -> frame link -> broker.

The receipt of a fault is what connections of our own met (`second_look.py`), with what became of the packets meanwhile;
that of its end, that a byte passes again, and what became of all packets while it stood.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Final
from urllib.parse import urlsplit

from assay_conformance.model.direction import Direction
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AtTime, Fault, Scope
from assay_conformance.model.outside import OnNetwork, Partition, Shape
from assay_faults.injector import Receipt
from assay_faults.namespaces.devices import require
from assay_faults.namespaces.netem import UNSHAPED, Counts
from assay_faults.namespaces.network import Network
from assay_faults.second_look import Facts, UnseenError, Way, now_ms, passes, proven, read, rounded
from assay_faults.tap import Tap

_SILENCE_MS: Final = 60
_PROBE_BYTES: Final = 20_000
_RATE_MS: Final = 50
_TIMER_MS: Final = 1
_TRIES: Final = 60
"""How many connections are tried until chance has hit one."""

# Effect of a Shape -> its count.
_COUNTED: Final = {"loss": "lost", "duplicate": "doubled", "reorder": "overtaken", "corrupt": "damaged"}


@dataclass(slots=True)
class _Front:
    """The network in front of one broker. `standing` are its faults, the last one in force."""

    network: Network
    tap: Tap
    host: str
    port: int
    standing: dict[int, OnNetwork]

    def way(self) -> Way:
        return Way(self.host, self.port, self.tap)

    def apply(self) -> None:
        """Let the packets meet what stands."""
        for direction in Direction:
            shape, partitioned = in_force(self.standing.values(), direction)
            self.network.change(direction, shape=shape, partitioned=partitioned)


class NamespaceInjector:
    """`Injector` of the means `namespaces`."""

    def __init__(self) -> None:
        self._faults: Mapping[int, Fault] = {}
        self._fronts: list[_Front] = []
        self._early: set[int] = set()
        self._before: dict[int, Counts] = {}
        self._turn = asyncio.Lock()

    async def prepare(self, faults: Mapping[int, Fault]) -> None:
        require()
        for number, fault in faults.items():
            if fault.scope != Scope(broker=fault.scope.broker):
                raise UsageError(f"fault {number}: packets know no topics or names; expected a scope of a broker alone")
        self._faults = faults

    async def front(self, url: str) -> str:
        """A network in front of one broker. What is to be wrong from the beginning is so before anybody can connect."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        network = Network(seed=len(self._fronts))
        tap = Tap(parts.hostname, parts.port)
        try:
            address = await tap.start(await asyncio.to_thread(network.start))
        except BaseException:
            network.close()
            raise
        host, _, port = address.rpartition(":")
        front = _Front(network, tap, host, int(port), {})
        self._fronts.append(front)
        for number, fault in self._faults.items():
            if fault.trigger == AtTime(0) and front in self._within(number):
                self._place(front, number)
                self._early.add(number)
        return f"{parts.scheme}://{address}"

    async def inject(self, fault: int) -> Receipt:
        async with self._turn:
            facts: Facts = {}
            for front in self._within(fault):
                if fault not in self._early:
                    self._before[fault] = _total(front.network)
                    self._place(front, fault)
                facts = await self._seen(front, fault)
            return Receipt(facts)

    async def heal(self, fault: int) -> Receipt:
        async with self._turn:
            facts: Facts = {}
            for front in self._within(fault):
                front.standing.pop(fault, None)
                front.apply()
                if not front.standing:
                    facts = await proven(front.way, passes, "a network without faults", _TRIES)
                facts |= asdict(_since(_total(front.network), self._before.get(fault, Counts())))
            return Receipt(facts)

    async def close(self) -> None:
        for front in self._fronts:
            front.tap.close()
            await asyncio.to_thread(front.network.close)
        self._fronts.clear()

    def _place(self, front: _Front, fault: int) -> None:
        action = self._faults[fault].action
        assert isinstance(action, OnNetwork)
        front.standing[fault] = action
        front.apply()

    async def _seen(self, front: _Front, fault: int) -> Facts:
        action = front.standing[fault]
        before = self._before.setdefault(fault, Counts())

        async def look(way: Way) -> Facts:
            facts = await (_blocked(way) if isinstance(action, Partition) else _shaped(action, way))
            since = _since(_total(front.network), before)
            return {**facts, **_counted(action, since)}

        return await proven(front.way, look, f"{action.__struct_config__.tag} of packets", _TRIES)

    def _within(self, fault: int) -> list[_Front]:
        broker = self._faults[fault].scope.broker
        return [front for number, front in enumerate(self._fronts) if broker in (None, number)]


def in_force(standing: Iterable[OnNetwork], direction: Direction) -> tuple[Shape, bool]:
    """What packets of a direction meet: the last shape of those that stand, and whether they are kept back."""
    shape, partitioned = UNSHAPED, False
    for action in standing:
        if action.direction not in (None, direction):
            continue
        if isinstance(action, Partition):
            partitioned = True
        else:
            shape = action
    return shape, partitioned


async def _blocked(way: Way) -> Facts:
    """A connection does not come about."""
    try:
        async with asyncio.timeout(_SILENCE_MS / 1000):
            await way.dial(None)
    except TimeoutError:
        return {"silent_ms": _SILENCE_MS}
    raise UnseenError("a connection came about")


async def _shaped(action: Shape, way: Way) -> Facts:
    """A connection comes about as late as it should, and carries bytes both ways, no faster than they may."""
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
    """How many packets met what the action is for. UnseenError when none has met one of its effects."""
    if isinstance(action, Partition):
        counts: Facts = {"blocked": since.blocked}
    else:
        counts = {count: getattr(since, count) for effect, count in _COUNTED.items() if getattr(action, effect)}
    for name, number in counts.items():
        if not number:
            raise UnseenError(f"no packet was {name}")
    return counts


def _total(network: Network) -> Counts:
    """Both directions together."""
    counts = network.counts().values()
    return Counts(**{name: sum(getattr(one, name) for one in counts) for name in asdict(Counts())})


def _since(now: Counts, then: Counts) -> Counts:
    return Counts(**{name: number - getattr(then, name) for name, number in asdict(now).items()})
