"""What each connection carries: producers, consumers, watchers, and requests without an answer.

Clients share connections, or have some for one purpose: for a single lookup, or for each producer. One that a client
ends when it carries nothing disturbs no call, and says nothing of how the client bears with a lost connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from assay_conformance.model.event import Closed, ClosedBy, Event, Frame, Opened
from assay_conformance.model.fault import Direction

_BEGINS: Final = {"PRODUCER": "producer", "SUBSCRIBE": "consumer", "WATCH_TOPIC_LIST": "watcher"}
_ENDS: Final = {
    "CLOSE_PRODUCER": "producer",
    "CLOSE_CONSUMER": "consumer",
    "UNSUBSCRIBE": "consumer",
    "WATCH_TOPIC_LIST_CLOSE": "watcher",
}
"""By either side. A CLOSE that the client writes waits for its answer like any request."""

OCCUPYING: Final = frozenset({*_BEGINS, *_ENDS})


class Occupancy:
    """Fed with the events of a history in their order."""

    def __init__(self) -> None:
        self._greeting: set[int] = set()
        """Connections on which CONNECTED has not come."""
        self._on: dict[int, dict[tuple[str, int | None], int | None]] = {}
        """Connection -> what is registered on it, and the id of the request for it."""
        self._asked: dict[int, set[int]] = {}
        """Connection -> requests without an answer."""
        self._of_use: set[int] = set()
        """Connections on which anything was answered: one that was never of use was not left for that."""

    def opened(self, opened: Opened) -> None:
        """Note that a connection was accepted."""
        self._greeting.add(opened.conn)

    def frame(self, frame: Frame) -> None:
        """Note that a frame crossed, or was lost on its way."""
        if frame.dir is Direction.TO_BROKER:
            if frame.from_sender:
                self._written(frame)
        elif frame.to_receiver:
            self._came(frame)

    def carries(self, conn: int) -> bool:
        """Return whether anything is registered on a connection, or waited for."""
        return conn in self._greeting or bool(self._on.get(conn)) or bool(self._asked.get(conn))

    def is_left_unused(self, closed: Closed) -> bool:
        """Return whether a client ended this connection when it had been of use, and carried nothing."""
        return closed.by is ClosedBy.CLIENT and closed.conn in self._of_use and not self.carries(closed.conn)

    def _written(self, frame: Frame) -> None:
        if frame.request_id is not None and frame.command != "ACK":
            self._asked.setdefault(frame.conn, set()).add(frame.request_id)
        if frame.command in _BEGINS:
            self._on.setdefault(frame.conn, {})[_registered(frame, _BEGINS)] = frame.request_id
        else:
            self._ended(frame)

    def _came(self, frame: Frame) -> None:
        if frame.command == "CONNECTED":
            self._greeting.discard(frame.conn)
        if frame.request_id is not None:
            self._asked.get(frame.conn, set()).discard(frame.request_id)
            self._of_use.add(frame.conn)
        on = self._on.get(frame.conn, {})
        if frame.command == "ERROR":
            for one in [one for one, request in on.items() if request is not None and request == frame.request_id]:
                del on[one]
        self._ended(frame)

    def _ended(self, frame: Frame) -> None:
        if frame.command in _ENDS:
            self._on.get(frame.conn, {}).pop(_registered(frame, _ENDS), None)


def _registered(frame: Frame, kinds: dict[str, str]) -> tuple[str, int | None]:
    kind = kinds[frame.command]
    if kind == "watcher":
        return kind, frame.fields.get("watcher_id")
    return kind, frame.producer_id if kind == "producer" else frame.consumer_id


def left_unused(events: Iterable[Event]) -> Iterator[Closed]:
    """Yield the ends of connections that the client chose while they carried nothing."""
    occupancy = Occupancy()
    for event in events:
        if isinstance(event, Frame):
            occupancy.frame(event)
        elif isinstance(event, Opened):
            occupancy.opened(event)
        elif isinstance(event, Closed) and occupancy.is_left_unused(event):
            yield event
