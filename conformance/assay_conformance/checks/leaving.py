"""Reasons of its own that a client may have to end a connection: then nothing that came over it is to blame."""

from __future__ import annotations

from assay_conformance.checks.base import CAME, Check, View, on
from assay_conformance.checks.tolerance import Tolerance
from assay_conformance.model.event import Closed, ClosedBy, Fate, Fired, Frame, Invoke
from assay_conformance.model.fault import Inject
from assay_conformance.wire import ProtocolError, decode

LEAVING = ("close", "crash", "exit")
"""Verbs after which a client may end its connections by itself."""

BORNE = ("corrupt", "resegment")
"""Actions that leave no reason to end a connection."""


LOOKUPS = ("LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
"""Answers to look-ups."""

BUSY = frozenset({"ServiceNotReady", "TooManyRequests"})
"""Errors in them that say that this broker is not to be asked just now. Clients may end the connection over them: the
C++ one over either, and the Java one over the first, or over many of the second (`checkServerError` in both)."""


def is_busy(answer: Frame) -> bool:
    """Whether one of `LOOKUPS` is a reason to end the connection it came over."""
    return answer.fields.get("error") in BUSY


DEFAULT_KEEP_ALIVE_MS = 30_000
"""Of clients that do not let us set it."""


def may_have_heard_nothing(view: View, closed: Closed) -> bool:
    """Whether the machine kept a client waiting for so long that its keep-alive may have ended this connection: the
    answer to its PING stood in a queue of the bench, or in one of its own."""
    clients = (opening.args.get("config") for opening in view.tracker.foresight.clients.values())
    set_ms = [view.setting("client", "keep_alive_ms", own) for own in [None, *clients]]
    interval_ms = min((int(one) for one in set_ms if one), default=DEFAULT_KEEP_ALIVE_MS)
    interval = Tolerance(interval_ms, "a keep-alive counts the silence of one interval")
    # A PING leaves after one silent interval, and the client behind a second one.
    return not view.tracker.load.quiet(closed.t_ns - 2 * interval.slack_ns, closed.t_ns, interval)


class LeavingCheck(Check):
    """Knows which connections a client may have ended for reasons of its own."""

    def __init__(self, view: View) -> None:
        self.leaving = False
        """The application has begun to end what it has."""
        self.reasons_to_leave: set[int] = set()
        """Connections with another reason; subclasses add to it."""
        super().__init__(view)

    def may_leave(self, conn: int) -> bool:
        return self.leaving or conn in self.reasons_to_leave

    def was_left(self, closed: Closed) -> bool:
        """The client ended this connection, and had no reason of its own to. Where the machine may have made it think
        that its peer was gone, the check is inconclusive."""
        if closed.by is not ClosedBy.CLIENT or self.may_leave(closed.conn):
            return False
        if may_have_heard_nothing(self.view, closed):
            self.undecided(f"the machine was too busy to decide why the client closed connection {closed.conn}")
            return False
        return True

    def came_beside(self, frame: Frame, fate: Fate) -> None:
        """A frame that the check is not about; where its fate is that of those it is about, it is unknown which of them
        a connection was left for."""
        if frame.fate is fate:
            self.reasons_to_leave.add(frame.conn)

    @on(Invoke, *LEAVING)
    def _leaves(self, event: Invoke) -> None:
        del event
        self.leaving = True

    @on(Fired)
    def _harmed(self, event: Fired) -> None:
        """Frames that are lost or late make receipts come ahead of their turn, and behind bytes that are no frame
        nothing can be read. One that is spoilt, comes in pieces, or that answers no request, is no reason."""
        harmless = event.action in BORNE or (event.action == "inject" and not ends_reading(self.view, event))
        if event.conn is not None and not harmless:
            self.reasons_to_leave.add(event.conn)

    @on(Frame, "SEND_ERROR")
    def _send_refused(self, event: Frame) -> None:
        """Clients send again over a new connection."""
        self.reasons_to_leave.add(event.conn)

    @on(Frame, *LOOKUPS, seen=CAME)
    def _looked_up(self, event: Frame) -> None:
        if is_busy(event):
            self.reasons_to_leave.add(event.conn)

    @on(Frame, "SEND_RECEIPT")
    def _receipted(self, event: Frame) -> None:
        """A receipt ahead of its turn, as of ids that were used again, says that one was lost."""
        if event.to_receiver and self.tracker.lines.is_out_of_turn:
            self.reasons_to_leave.add(event.conn)


def is_readable(message: Frame) -> bool:
    """Whether a MESSAGE holds what it was sent with: of what a client makes of another, checks of its own tell."""
    meta = message.meta
    if meta is None or message.fate is Fate.ALTERED or meta.unpacked_bytes is not None:
        return False
    return bool(message.members) or meta.chunk_id is not None


def ends_reading(view: View, event: Fired) -> bool:
    """Bytes that are no frame were put in: nothing behind them can be read."""
    faults = view.case.faults
    action = faults[event.fault].action if event.fault < len(faults) else None
    return isinstance(action, Inject) and bool(action.raw) and not is_frame(action.raw)


def is_frame(raw: bytes) -> bool:
    try:
        decode(raw)
    except ProtocolError:
        return False
    return int.from_bytes(raw[:4], "big") == len(raw) - 4
