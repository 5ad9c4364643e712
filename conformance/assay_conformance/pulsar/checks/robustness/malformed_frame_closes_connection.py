"""robustness.malformed-frame-closes-connection"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.leaving import LEAVING, is_frame
from assay_conformance.model.event import Closed, ClosedBy, Ended, Event, Fate, Fired, Frame, Invoke, Opened
from assay_conformance.model.fault import Direction, Inject
from assay_conformance.model.requirement import RequirementId


class MalformedFrameClosesConnection(TimedCheck):
    """After bytes that are no frame nothing can be read: the client closes the connection and makes a new one.

    Where a fault holds frames of that connection, such bytes are held, too. A broker that does not read at once does
    not notice a close at once either: then it is unknown how long the connection stayed open."""

    requirement = RequirementId("robustness.malformed-frame-closes-connection")

    def start(self) -> None:
        self._bad: dict[int, Fired] = {}
        self._closed: list[tuple[Fired, Closed]] = []
        self._opened_ns: list[int] = []
        self._left_ns: int | None = None
        self._in_use: set[int] = set()
        """Connections on which a producer or a consumer was registered: without one, no new connection is needed."""
        self._held: set[int] = set()
        """Connections with frames that a fault holds at the moment."""
        self._released_ns: dict[int, int] = {}

    def concerned(self) -> bool:
        return any(isinstance(fault.action, Inject) and fault.action.raw for fault in self.view.case.faults)

    @on(Invoke, *LEAVING)
    def leaving(self, event: Invoke) -> None:
        self._left_ns = event.t_ns if self._left_ns is None else self._left_ns

    @on(Fired)
    def fired(self, event: Fired) -> None:
        faults = self.view.case.faults
        action = faults[event.fault].action if event.fault < len(faults) else None
        if event.conn is None or not isinstance(action, Inject) or action.direction is not Direction.TO_CLIENT:
            return
        if action.raw and not is_frame(action.raw):
            self._bad.setdefault(event.conn, event)

    @on(Frame)
    def held_or_released(self, event: Frame) -> None:
        if event.dir is not Direction.TO_CLIENT or event.fate not in (Fate.HELD, Fate.RELEASED):
            return
        if event.fate is Fate.HELD:
            self._held.add(event.conn)
        else:
            self._held.discard(event.conn)
            self._released_ns[event.conn] = event.t_ns

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS")
    def admitted(self, event: Frame) -> None:
        if to_client(event):
            self._in_use.add(event.conn)

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registers(self, event: Frame) -> None:
        """A client that finds its topic at another broker may use an existing connection to that one."""
        if from_client(event):
            self._opened_ns.append(event.t_ns)

    @on(Opened)
    def opened(self, event: Opened) -> None:
        self._opened_ns.append(event.t_ns)

    @on(Closed)
    def closed(self, event: Closed) -> None:
        fired = self._bad.pop(event.conn, None)
        if fired is None or event.by is not ClosedBy.CLIENT:
            return
        if self._is_late(event.conn, fired, event.t_ns):
            self._kept(event.conn, fired, event)
        else:
            self.exercise(event)
            if event.conn in self._in_use:
                self._closed.append((fired, event))

    @on(Ended)
    def ended(self, event: Ended) -> None:
        until_ns = event.t_ns if self._left_ns is None else self._left_ns
        for conn, fired in self._bad.items():
            if self._is_late(conn, fired, until_ns):
                self._kept(conn, fired, event)
        for fired, closed in self._closed:
            # A client may have closed the connection before its peer noticed.
            back = any(opened_ns >= self._came_ns(closed.conn, fired) for opened_ns in self._opened_ns)
            if not back and late("reconnect", closed.t_ns, until_ns):
                self.overdue(
                    "reconnect",
                    closed.t_ns,
                    until_ns,
                    "not-back",
                    f"the client closed connection {closed.conn} at {ms(closed.t_ns)} after bytes that are no frame "
                    f"({ms(fired.t_ns)}); expected a new connection; there was none by {ms(until_ns)}",
                    fired,
                    closed,
                )

    def _came_ns(self, conn: int, fired: Fired) -> int:
        return max(fired.t_ns, self._released_ns.get(conn, 0))

    def _is_late(self, conn: int, fired: Fired, seen_ns: int) -> bool:
        waits = conn in self._held or not self.view.is_read_at_once()
        return not waits and late("answer", self._came_ns(conn, fired), seen_ns)

    def _kept(self, conn: int, fired: Fired, event: Event) -> None:
        self.overdue(
            "answer",
            self._came_ns(conn, fired),
            event.t_ns,
            "kept-open",
            f"bytes that are no frame came over connection {conn} at {ms(self._came_ns(conn, fired))}; expected the "
            f"client to close it, since nothing after them can be read; it was still open at {ms(event.t_ns)}",
            fired,
            event,
        )
