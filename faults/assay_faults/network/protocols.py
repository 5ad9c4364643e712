"""What a shell asks of a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

Factory = Callable[[], asyncio.Protocol]

SCHEME = "pulsar"


class Listener(Protocol):
    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


class Network(Protocol):
    async def listen(self, factory: Factory) -> Listener:
        """Accept connections on an address of its own; each gets a protocol of `factory`."""
        ...

    async def connect(self, factory: Factory, url: str) -> asyncio.Transport:
        """Open a connection to a listener's URL; ConnectionRefusedError when nobody listens there."""
        ...

    def reset(self, transport: asyncio.Transport, *, abrupt: bool) -> None:
        """End a connection by RST; unless `abrupt`, after what was written has left."""
        ...

    async def prove(self) -> None:
        """Carry a byte from a listener of its own; HarnessError when that fails, so that no client is blamed for it."""
        ...
