"""What a shell asks of a network."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol

Factory = Callable[[], asyncio.Protocol]

SCHEME = "pulsar"


class Listener(Protocol):
    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


class Network(Protocol):
    async def listen(self, factory: Factory, tls: ssl.SSLContext | None = None) -> Listener:
        """Accept connections on an address of its own, those that speak TLS where `tls` says how; each gets a protocol
        of `factory`."""
        ...

    async def connect(self, factory: Factory, url: str, tls: ssl.SSLContext | None = None) -> asyncio.Transport:
        """Open a connection to a listener's URL; `tls` is for a URL that asks for it.

        Raise ConnectionRefusedError when nothing listens there, SSLError when the file of trusted certificates does not
        exist.
        """
        ...

    def reset(self, transport: asyncio.Transport, *, abrupt: bool) -> None:
        """End a connection by RST; unless `abrupt`, after what was written has left."""
        ...

    async def prove(self) -> None:
        """Carry a byte from a listener of its own.

        Raise HarnessError when that fails, so that no client is blamed for it.
        """
        ...
