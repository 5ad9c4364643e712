"""Connections as a parameter: TCP on loopback, or pipes in memory, behind asyncio's own protocol interface.

A shell is an `asyncio.Protocol`; it cannot tell which network carries it. The memory network keeps what TCP keeps:
bytes in order, FIN after the bytes before it, RST that overtakes them, and a reader that may pause.
"""

from __future__ import annotations

from assay_faults.network.memory import MemoryNetwork
from assay_faults.network.protocols import SCHEME, Factory, Listener, Network
from assay_faults.network.sockets import SocketNetwork

__all__ = ["SCHEME", "Factory", "Listener", "MemoryNetwork", "Network", "SocketNetwork"]
