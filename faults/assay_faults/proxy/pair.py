"""A client's connection and the one to its broker: what comes on one goes through the link to the other.

For the link, and so for the history, a connection is over when one side has ended it. For TCP the other half is still
open: what the other side writes is passed on, past link and history, until that side ends too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING

from assay_conformance.model.event import ClosedBy
from assay_conformance.model.fault import CutHow, Direction
from assay_conformance.wire import Frame, FramingError, ProtocolError, decode
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS
from assay_faults.bounds import MOST_WAITING_BYTES
from assay_faults.proxy.addresses import UnknownAddressError
from assay_faults.stream import FrameStream

if TYPE_CHECKING:
    from assay_faults.proxy.proxy import FrameProxy


class Reason(Enum):
    """Why one side is not read at the moment."""

    OTHER_SIDE_IS_SLOW = auto()
    FAULT_KEEPS_MUCH = auto()
    ADDRESS_IS_OPENED = auto()


class End(FrameStream):
    """One of the two ends; `way` is the direction in which its bytes go."""

    way: Direction
    by: ClosedBy
    pair: Pair
    other: End

    def __init__(self, proxy: FrameProxy) -> None:
        super().__init__(proxy.network, proxy.max_frame_bytes, proxy.broke)
        self.proxy = proxy
        self.ended = False
        self.gone = False
        self.unreadable = False

    def data_received(self, data: bytes) -> None:
        self.other.cork()
        self.cork()
        try:
            super().data_received(data)
        finally:
            self.other.uncork()
            self.uncork()

    def garbage(self, error: FramingError) -> None:
        self.pair.stray(self, error.rest, "" if self.unreadable else str(error))
        self.unreadable = True

    def settled(self) -> None:
        self.pair.settled(self)

    def eof_received(self) -> bool:
        """Return whether the connection stays open in the other direction, which TLS here cannot do."""
        with self.proxy.watched():
            return self.can_be_half_open and self.pair.half_closed(self)
        return False

    def lost(self, error: Exception | None) -> None:
        self.pair.lost(self, error)

    def choked(self) -> None:
        self.other.hold(Reason.OTHER_SIDE_IS_SLOW)

    def freed(self) -> None:
        self.other.release(Reason.OTHER_SIDE_IS_SLOW)


class ClientEnd(End):
    """What a client connects to."""

    way = Direction.TO_BROKER
    by = ClosedBy.CLIENT

    def __init__(self, proxy: FrameProxy, broker: int) -> None:
        super().__init__(proxy)
        self.broker = broker

    def made(self) -> None:
        self.other = BrokerEnd(self.proxy)
        self.other.other = self
        self.pair = self.other.pair = Pair(self.proxy, self, self.other)
        self.pair.begin()

    def arrived(self, raw: bytes) -> None:
        self.pair.from_client(raw)


class BrokerEnd(End):
    """What connects to the broker."""

    way = Direction.TO_CLIENT
    by = ClosedBy.BROKER

    def arrived(self, raw: bytes) -> None:
        self.pair.from_broker(raw)


class Pair:
    """`number` counts the Case's connections. `known`: the link knows it, and decides what passes."""

    def __init__(self, proxy: FrameProxy, client: ClientEnd, broker: BrokerEnd) -> None:
        self._proxy = proxy
        self._link = proxy.link
        self.client = client
        self.broker = broker
        self.number = -1
        self.known = False
        self._cut = False
        self._dial: asyncio.Task[None] | None = None
        self._behind: list[Callable[[], None]] | None = None

    def begin(self) -> None:
        """Begin with a client that has connected: dial its broker, unless a fault refuses the connection."""
        number = self._proxy.opened(self, self.client.broker)
        if number is None:
            self._cut = self.broker.gone = True
            self.client.drop()
            return
        self.number, self.known = number, True
        self._dial = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            await self._proxy.dial(self.broker, self.client.broker)
        except OSError as error:
            # Nothing listens there: the nearest to a refusal that a client can be shown whom we have accepted already.
            self.lost(self.broker, error)
        except Exception as error:
            self._proxy.broke(error)
            self.lost(self.broker, error)
        finally:
            self._dial = None

    # --- bytes ---

    def from_client(self, raw: bytes) -> None:
        frame = self._decoded(self.client, raw)
        if frame is not None:
            self._pass(self.client, frame)

    def from_broker(self, raw: bytes) -> None:
        if self._behind is not None:
            self._behind.append(partial(self.from_broker, raw))
            return
        frame = self._decoded(self.broker, raw)
        if frame is None:
            return
        if (far_side := self._proxy.far_side) is not None:
            if (answer := far_side.answer(frame)) is not None:
                self.broker.write(answer)
                self.broker.flush()
                return
            frame = far_side.leaving(self.number, frame)
        if frame.type in SERVICE_URL_FIELDS:
            self._directions(frame)
        else:
            self._pass(self.broker, frame)

    def _pass(self, sender: End, frame: Frame) -> None:
        if self.known:
            self._link.frame(self.number, sender.way, frame, self._proxy.now_ns())
        elif not self._cut:
            # Bytes after the frame that the cut was at are not passed on.
            sender.other.write(frame.raw)

    def _decoded(self, sender: End, raw: bytes) -> Frame | None:
        try:
            return decode(raw)
        except ProtocolError as error:
            self.stray(sender, raw, str(error))
            return None

    def stray(self, sender: End, data: bytes, reason: str = "") -> None:
        """Pass on bytes that cannot be read here, for the other side to judge; record `reason`, if any."""
        if self._behind is not None and sender is self.broker:
            self._behind.append(partial(self.stray, sender, data, reason))
            return
        if not self.known:
            if not self._cut:
                sender.other.write(data)
            return
        now_ns = self._proxy.now_ns()
        if reason:
            self._link.undecodable(self.number, sender.way, data, reason, now_ns)
        self._link.stray(self.number, sender.way, data, now_ns)

    def settled(self, sender: End) -> None:
        """Note that all frames of one read have been passed on, as far as they may be."""
        if self._link.waiting_bytes(self.number, sender.way) > MOST_WAITING_BYTES:
            sender.hold(Reason.FAULT_KEEPS_MUCH)
            self._proxy.kept.add(self)
        # What passed leaves in this turn of the loop, and nothing else is in its way.
        asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        with self._proxy.watched():
            self._proxy.wake()

    def eased(self) -> bool:
        """Read a side again once faults hold back little enough; return whether both sides may be read."""
        waiting = [self._link.waiting_bytes(self.number, end.way) for end in (self.client, self.broker)]
        for end, waiting_bytes in zip((self.client, self.broker), waiting, strict=True):
            if waiting_bytes <= MOST_WAITING_BYTES:
                end.release(Reason.FAULT_KEEPS_MUCH)
        return max(waiting) <= MOST_WAITING_BYTES

    # --- addresses ---

    def _directions(self, frame: Frame) -> None:
        """Replace the addresses in a frame that sends the client elsewhere by addresses of ours.

        An address that is not known yet is opened first.
        """
        try:
            unknown = self._proxy.addresses.unknown(frame)
        except UnknownAddressError as error:
            self._proxy.broke(error)
            self._give_up()
            return
        if unknown:
            self._behind = [partial(self._directions, frame)]
            self.broker.hold(Reason.ADDRESS_IS_OPENED)
            self._proxy.open_for(unknown, self._go_on)
        else:
            self._pass(self.broker, self._proxy.addresses.for_client(frame))

    def _go_on(self, opened: bool) -> None:
        behind, self._behind = self._behind or [], None
        if not opened:
            self._give_up()
            return
        for pass_on in behind:
            pass_on()
        if self._behind is None:
            self.broker.release(Reason.ADDRESS_IS_OPENED)
        self.settled(self.broker)

    def _give_up(self) -> None:
        """Reset the connection of a client for which the bench has no way on."""
        if self.known:
            self._link.ended(self.number, ClosedBy.FAULT, True, self._proxy.now_ns())
        self.cut(CutHow.RST, abrupt=True)

    # --- how it ends ---

    def half_closed(self, sender: End) -> bool:
        """End one side's writing; return whether the connection stays open in the other direction."""
        self._pass_rest(sender)
        if not self._reports_end(sender, reset=False):
            # A black hole: the other side cannot know.
            return False
        sender.ended = True
        if not sender.other.ended:
            sender.other.half_close()
            return True
        sender.other.finish()
        return False

    def lost(self, sender: End, error: Exception | None) -> None:
        """Close the pair after one side's connection is over."""
        self._pass_rest(sender)
        if error is not None and sender is self.broker:
            self._proxy.failed(self.client.broker, error)
        reported = self._reports_end(sender, reset=error is not None)
        sender.gone = True
        if sender.other.gone:
            self._proxy.over(self)
        elif reported and not self._cut:
            if error is not None:
                sender.other.reset(abrupt=False)
            else:
                sender.other.finish()

    def cut(self, how: CutHow, *, abrupt: bool) -> None:
        """Cut the connection towards both sides, on behalf of a fault."""
        self.known, self._cut = False, True
        if how is CutHow.RST:
            self.client.reset(abrupt=abrupt)
        else:
            self.client.finish()
        # What passed in front of the cut has arrived, an abrupt one, too. A broker that is reset reads no more of what
        # lies in its socket, and what lies here is thrown away; to FIN it comes in its turn.
        self.broker.finish()

    def drop(self) -> None:
        """Drop the connection, whatever its state."""
        self.known, self._cut = False, True
        if self._dial is not None:
            self._dial.cancel()
        self.client.drop()
        self.broker.drop()

    def _pass_rest(self, sender: End) -> None:
        if (rest := sender.take_pending()) and not self._cut:
            self.stray(sender, rest)
            sender.other.flush()

    def _reports_end(self, sender: End, *, reset: bool) -> bool:
        """Report that one side has ended the connection; return whether the other side may know."""
        if not self.known:
            return True
        reported = self._link.ended(self.number, sender.by, reset, self._proxy.now_ns())
        # The link may have cut it meanwhile.
        self.known = self.known and not reported
        self._proxy.wake()
        return reported
