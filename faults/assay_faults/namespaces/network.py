"""A network between the machine's own namespace and a new one: two TUN devices, and a thread that carries packets.

    client --TCP-- [tun] == thread, netem each way == [tun | namespace] --TCP-- our listener --> broker

Clients stay where they are and connect to an address of the network. The listener's socket belongs to the namespace in
which it was made, whoever uses it, so that brokers stay where they are as well.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import select
import socket
import threading
import time
from dataclasses import asdict
from typing import Final

from assay_conformance.model.direction import Direction
from assay_conformance.model.errors import HarnessError
from assay_conformance.model.outside import Shape
from assay_faults.bounds import NAMESPACE_BEGINS_S
from assay_faults.namespaces.devices import enter_new_namespace, open_tun, require
from assay_faults.namespaces.netem import UNSHAPED, Counts, Netem

_BLOCKS: Final = 1 << 14
"""Networks of four addresses in 198.18.0.0/16, which RFC 2544 sets aside for tests of networks."""
_PACKETS_A_TURN: Final = 64
_READ_BYTES: Final = 1 << 16
_IPV4: Final = 4


class Network:
    """One network, from `start` to `close`. `seed` decides which packets are hit.

    UnavailableError where the machine allows none, HarnessError when it could not be set up all the same.
    """

    def __init__(self, seed: int) -> None:
        self._netem = {way: Netem(random.Random(f"{seed} {way.value}").random) for way in Direction}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._failure: Exception | None = None
        self._claim: socket.socket | None = None
        self._stopped, self._stop = os.pipe2(os.O_CLOEXEC)
        self._devices: list[int] = []
        self._thread = threading.Thread(target=self._run, name="assay-network", daemon=True)

    def start(self) -> socket.socket:
        """Set the network up, and return a listening socket in its far namespace. Blocks for some milliseconds."""
        require()
        self._claim, block = _claim_block()
        near, self._address = (f"198.18.{block >> 6}.{(block & 63) * 4 + host}" for host in (1, 2))
        try:
            self._devices.append(open_tun(near))
        except OSError as error:
            raise HarnessError(f"a TUN device cannot be set up: {error}") from error
        self._thread.start()
        if not self._ready.wait(NAMESPACE_BEGINS_S) or self._failure is not None:
            raise HarnessError(f"a network namespace cannot be set up: {self._failure or 'no answer of its thread'}")
        return self._listener

    def change(self, direction: Direction | None, *, shape: Shape = UNSHAPED, partitioned: bool = False) -> None:
        """Set what packets meet from now on, in one direction or in both."""
        with self._lock:
            for way in Direction if direction is None else (direction,):
                self._netem[way].shape = shape
                self._netem[way].partitioned = partitioned

    def total(self) -> Counts:
        """Return what became of the packets so far, counted over both directions."""
        with self._lock:
            ways = [asdict(netem.counts) for netem in self._netem.values()]
        return Counts(**{name: sum(way[name] for way in ways) for name in ways[0]})

    def close(self) -> None:
        """Remove devices and namespace, and abort connections on them. May be called when `start` has failed."""
        os.close(self._stop)
        if self._thread.is_alive():
            self._thread.join()
        for descriptor in (self._stopped, *self._devices):
            os.close(descriptor)
        if self._claim is not None:
            self._claim.close()

    # --- the thread ---

    def _run(self) -> None:
        try:
            enter_new_namespace()
            self._devices.append(open_tun(self._address))
            self._listener = socket.create_server((self._address, 0), backlog=512)
        except OSError as error:
            self._failure = error
            self._ready.set()
            return
        self._ready.set()
        self._carry(*self._devices)

    def _carry(self, near: int, far: int) -> None:
        ways = {
            near: (self._netem[Direction.TO_BROKER], far),
            far: (self._netem[Direction.TO_CLIENT], near),
        }
        with select.epoll() as waiting:
            for descriptor in (self._stopped, *ways):
                waiting.register(descriptor, select.EPOLLIN)
            while True:
                ready = {descriptor for descriptor, _ in waiting.poll(self._patience_s())}
                if self._stopped in ready:
                    return
                with self._lock:
                    for descriptor, (netem, sink) in ways.items():
                        if descriptor in ready:
                            _take(descriptor, netem)
                        _give(sink, netem)

    def _patience_s(self) -> float | None:
        with self._lock:
            due = [ns for netem in self._netem.values() if (ns := netem.next_ns()) is not None]
        return max(0, min(due) - time.monotonic_ns()) / 1e9 if due else None


def _take(source: int, netem: Netem) -> None:
    for _ in range(_PACKETS_A_TURN):
        try:
            packet = os.read(source, _READ_BYTES)
        except BlockingIOError:
            return
        if packet[0] >> 4 == _IPV4:  # the kernel says a word of IPv6 to every device that comes up
            netem.offer(packet, time.monotonic_ns())


def _give(sink: int, netem: Netem) -> None:
    for packet in netem.due(time.monotonic_ns()):
        # A full queue loses packets, and so does one whose header was damaged: as networks do.
        with contextlib.suppress(OSError):
            os.write(sink, packet)


def _claim_block() -> tuple[socket.socket, int]:
    """Claim a block of addresses that no other run on this machine uses. The kernel frees the name when we die."""
    first = os.getpid() * 31 % _BLOCKS
    for block in (*range(first, _BLOCKS), *range(first)):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0assay-network-{block}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return claim, block
    raise HarnessError(f"all {_BLOCKS} networks of 198.18.0.0/16 are in use; end other runs")
