"""Bytes that are no frame, and frames that the client has to ignore."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.checks.leaving import LeavingCheck, is_readable
from assay_conformance.checks.occasions import Trait
from assay_conformance.model.event import Closed, Fate, Frame


class Ignored(TimedCheck, LeavingCheck):
    """Frames that the client has to ignore: the connection they came over stays open."""

    needs = (Trait.HARMED,)

    what: str

    def start(self) -> None:
        self._came: dict[int, Frame] = {}

    def is_to_be_ignored(self, event: Frame) -> bool:
        """Whether the client has to ignore this frame, which was written to it."""
        raise NotImplementedError

    @on(Frame)
    def frame(self, event: Frame) -> None:
        if to_client(event):
            if self.is_to_be_ignored(event):
                self._came.setdefault(event.conn, event)
            else:
                self.came_beside(event, Fate.INJECTED)
                self.came_beside(event, Fate.ALTERED)
                if event.command == "MESSAGE" and not is_readable(event):
                    self.reasons_to_leave.add(event.conn)  # What a client does about it is judged by other checks.
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
                f"{_name(came)} {self.what} came to the client on connection {event.conn} at {ms(came.t_ns)}; expected "
                f"it to be ignored; the client closed the connection at {ms(event.t_ns)}",
                came,
                event,
            )


def _name(frame: Frame) -> str:
    return f"a command of type {frame.command}" if frame.command.isdigit() else f"a {frame.command}"
