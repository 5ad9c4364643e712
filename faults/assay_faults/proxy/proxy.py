"""The frame proxy: one Case's frame link between clients and brokers that are not ours, over TCP.

Each broker has a listener here that stands for it, and addresses of brokers in frames to the client are replaced by
ours (addresses.py). Without a fault, bytes pass as they came, each way and to their end; with one, the link decides
(link.py). Everything here is plumbing: no rule of the protocol lives in this file.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.fault import CutHow, Direction, Fault
from assay_conformance.wire import DEFAULT_MAX_FRAME_BYTES, Frame
from assay_conformance.wire.service_urls import speaks_tls
from assay_faults.host import LinkHost
from assay_faults.link import FrameLink, Outside
from assay_faults.network import Listener, Network
from assay_faults.proxy.addresses import TO_BROKER, Addresses
from assay_faults.proxy.pair import BrokerEnd, ClientEnd, Pair
from assay_faults.proxy.tls import Tls, trouble


class FarSide(Protocol):
    """Sees frames as brokers do, behind the link, and may change them."""

    def arriving(self, conn: int, frame: Frame) -> Frame:
        """Return what is written to the broker in place of `frame`."""
        ...

    def answer(self, frame: Frame) -> bytes | None:
        """Return the answer to a broker's frame that is for us and not for the link, or None for any other frame."""
        ...

    def leaving(self, conn: int, frame: Frame) -> Frame:
        """Return what the link gets in place of `frame`, which a broker has sent."""
        ...


class FrameProxy(LinkHost):
    """Made before its brokers are known, started when they are; `urls` are then our addresses for them.

    `front` maps an address of ours to the one that clients get. Brokers that speak
    TLS need `tls`. What the proxy itself cannot do (a broker sends clients to what is no address, or is not who it
    should be) ends the connection, and is in `troubles`: the bench's, never a client's.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        topics: Mapping[str, str],
        recorder: Recorder,
        network: Network,
        now_ns: Callable[[], int],
        *,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        grows: bool = False,
        outside: Outside | None = None,
        front: Callable[[str], Awaitable[str]] | None = None,
        far_side: FarSide | None = None,
        tls: Tls | None = None,
    ) -> None:
        local = {full: name for name, full in topics.items()}
        link = FrameLink(faults, self, recorder, topics=local, grows=grows, outside=outside, writes_later=True)
        super().__init__(link, now_ns)
        self._recorder = recorder
        self.network = network
        self.max_frame_bytes = max_frame_bytes
        self.addresses = Addresses(tls=tls is not None)
        self.kept: set[Pair] = set()
        self.urls: list[str] = []
        self.far_side = far_side
        self._front = front
        self._tls = tls
        self._brokers: list[str] = []
        self._listeners: list[Listener] = []
        self._pairs: dict[int, Pair] = {}
        self._opened = 0
        self._opening: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    async def start(self, brokers: Sequence[str]) -> None:
        """Listen on one address for each of these service URLs, by which brokers call themselves, in their order.

        A broker that is first named later gets an address then, after the others. Raise HarnessError when an address
        cannot be opened.
        """
        for url in brokers:
            await self._listen(url)
        self.wake()

    @property
    def connections(self) -> int:
        """How many there are, ended on one side or on none."""
        return len(self._pairs)

    def close(self) -> None:
        """Stop listening and drop every connection."""
        for task in self._opening:
            task.cancel()
        for listener in self._listeners:
            listener.close()
        for pair in tuple(self._pairs.values()):
            pair.drop()
        self._alarm.close()

    def wake(self) -> None:
        """Look again at what is due and what is held back: deadlines may have moved, and frames may have passed."""
        self._recorder.settle()
        self._alarm.set(self.link.next_deadline_ns())
        if self.kept:
            self.kept = {pair for pair in self.kept if not pair.eased()}

    def _advance(self) -> None:
        self.link.advance(self.now_ns())
        self.wake()

    # --- addresses ---

    async def _listen(self, url: str) -> None:
        broker = len(self._brokers)
        self._brokers.append(url)
        near = self._tls.near if self._tls is not None and speaks_tls(url) else None
        listener = await self.network.listen(lambda: ClientEnd(self, broker), near)
        self._listeners.append(listener)
        ours = listener.url if self._front is None else await self._front(listener.url)
        self.urls.append(ours)
        self.addresses.add(url, ours)

    def open_for(self, urls: Sequence[str], then: Callable[[bool], None]) -> None:
        """Open an address of ours for each of these, and then call `then` with whether that was possible."""
        task = asyncio.get_running_loop().create_task(self._open_for(urls, then))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_for(self, urls: Sequence[str], then: Callable[[bool], None]) -> None:
        opened = False
        with self.watched():
            async with self._one_at_a_time:
                for url in urls:
                    if not self.addresses.stands_for(url):
                        await self._listen(url)
            opened = True
        with self.watched():
            then(opened)

    # --- from connections ---

    def opened(self, pair: Pair, broker: int) -> int | None:
        """Return the connection's number, or None when a fault refuses the connection."""
        number = self._opened
        if not self.link.opened(number, broker, self.now_ns(), self.urls[broker]):
            return None
        self._opened += 1
        self._pairs[number] = pair
        self.wake()
        return number

    async def dial(self, end: BrokerEnd, broker: int) -> None:
        """Connect to a broker. Raise OSError when it cannot be reached, or is not who it should be."""
        far = None if self._tls is None else self._tls.far
        await self.network.connect(lambda: end, self._brokers[broker], far)

    def failed(self, broker: int, error: Exception) -> None:
        """Report a connection to a broker that failed or ended over TLS; other errors are left to the client."""
        if isinstance(error, ssl.SSLError):
            self.broke(trouble(self._brokers[broker], error))

    def over(self, pair: Pair) -> None:
        """Forget a pair of which nothing is left."""
        self._pairs.pop(pair.number, None)
        self.kept.discard(pair)

    # --- LinkSink ---

    def deliver(self, conn: int, direction: Direction, frame: Frame) -> None:
        pair = self._pairs.get(conn)
        if pair is None:
            return
        if direction is Direction.TO_CLIENT:
            pair.client.write(frame.raw)
            return
        if frame.type in TO_BROKER:
            # Only now: the witness writes down what the client said, in the addresses that the client was given.
            frame = self.addresses.for_broker(frame)
        if self.far_side is not None:
            frame = self.far_side.arriving(conn, frame)
        pair.broker.write(frame.raw)

    def deliver_bytes(self, conn: int, direction: Direction, data: bytes) -> None:
        pair = self._pairs.get(conn)
        if pair is not None:
            (pair.broker if direction is Direction.TO_BROKER else pair.client).write_piece(data)

    def close_link(self, conn: int, how: CutHow, abrupt: bool) -> None:
        pair = self._pairs.get(conn)
        if pair is not None:
            pair.cut(how, abrupt=abrupt)
