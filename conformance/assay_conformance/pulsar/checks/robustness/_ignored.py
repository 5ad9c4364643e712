"""What is no frame, and frames that concern nobody."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.leaving import LeavingCheck, is_readable
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Closed, Fate, Frame


class Ignored(TimedCheck, LeavingCheck):
    """Frames that concern nobody: the connection they came over goes on."""

    needs = (Trait.HARMED,)

    what: str

    def start(self) -> None:
        self._came: dict[int, Frame] = {}

    def concerns_nobody(self, event: Frame) -> bool:
        """Of a frame that was written to the client."""
        raise NotImplementedError

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if to_client(event):
            if self.concerns_nobody(event):
                self._came.setdefault(event.conn, event)
            else:
                self.came_beside(event, Fate.INJECTED)
                self.came_beside(event, Fate.ALTERED)
                if event.command == "MESSAGE" and not is_readable(event):
                    self.reasons_to_leave.add(event.conn)  # Of what a client makes of it, checks of its own tell.
        elif event.conn in self._came and from_client(event) and event.t_ns > self._came[event.conn].t_ns:
            self.exercise(self._came.pop(event.conn))

    @on(Closed)
    def closed(self, event: Closed) -> None:
        came = self._came.pop(event.conn, None)
        if came is None or late("answer", came.t_ns, event.t_ns):
            return
        if self.was_left(event):
            self.breach(
                "connection-closed",
                f"the client closed connection {event.conn} at {ms(event.t_ns)}, after {_name(came)} {self.what} at "
                f"{ms(came.t_ns)}",
                came,
                event,
            )


def _name(frame: Frame) -> str:
    return f"a command of type {frame.command}" if frame.command.isdigit() else f"a {frame.command}"
