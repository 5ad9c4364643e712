"""Who is registered and connected when the Case ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from assay_conformance.machines.outcomes.aspects import Aspect, Kind, Value
from assay_conformance.model.event import Closed, Event, Frame, Invoke, Opened, ReadBack


class _Asked(NamedTuple):
    """A registration: the role, the id of the producer or consumer on its connection, the topic."""

    role: str
    id: int | None
    topic: str


_ROLES: Final[Mapping[str, str]] = {"PRODUCER": "producer", "SUBSCRIBE": "consumer"}
_SUCCESS: Final[Mapping[str, str]] = {"PRODUCER_SUCCESS": "producer", "SUCCESS": "consumer"}
_ENDS: Final[Mapping[str, str]] = {"CLOSE_PRODUCER": "producer", "CLOSE_CONSUMER": "consumer"}


class Connections:
    """Registrations as brokers have them: by the answers that reached the client."""

    def __init__(self) -> None:
        self._locals: dict[str, str] = {}
        self._open: set[int] = set()
        self._asked: dict[tuple[int, int | None], _Asked] = {}
        self._registered: dict[tuple[int, str, int | None], str] = {}
        self._places: set[str] = set()
        self._before_end: Counter[str] | None = None
        self._left: int | None = None

    def know(self, local_names: Mapping[str, str]) -> None:
        self._locals = dict(local_names)

    def see(self, event: Event) -> None:
        match event:
            case Opened():
                self._open.add(event.conn)
            case Closed():
                self._open.discard(event.conn)
                self._registered = {key: topic for key, topic in self._registered.items() if key[0] != event.conn}
            case Frame():
                self._frame(event)
            case Invoke(verb="close", step=None) if self._before_end is None:
                self._before_end = Counter(f"{role} of {topic}" for (_, role, _), topic in self._registered.items())
            case ReadBack() if self._left is None:
                self._left = len(self._open)

    def _frame(self, frame: Frame) -> None:
        if (role := _ROLES.get(frame.command)) and frame.at_broker:
            full = str(frame.fields.get("topic", ""))
            topic = self._locals.get(full.partition("-partition-")[0], "another topic")
            self._places.add(f"{role} of {topic}")
            number = frame.producer_id if role == "producer" else frame.consumer_id
            self._asked[frame.conn, frame.request_id] = _Asked(role, number, topic)
        elif (role := _SUCCESS.get(frame.command)) and frame.at_client:
            asked = self._asked.get((frame.conn, frame.request_id))
            if asked is not None and asked.role == role and frame.fields.get("producer_ready", True):
                self._registered[frame.conn, role, asked.id] = asked.topic
        elif role := _ENDS.get(frame.command):
            number = frame.producer_id if role == "producer" else frame.consumer_id
            self._registered.pop((frame.conn, role, number), None)

    def outcomes(self) -> Iterator[tuple[Aspect, Value]]:
        if self._before_end is not None:
            for place in sorted(self._places):
                yield Aspect(Kind.REGISTERED, place), (str(self._before_end[place]),)
        if self._left is not None:
            yield Aspect(Kind.CONNECTED, ""), (str(self._left),)
