"""SENDs for producers that are not registered."""

from __future__ import annotations

from collections import Counter

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.model.event import Frame, Stored
from assay_conformance.model.requirement import RequirementId

Place = tuple[int, int]
"""Connection and producer id."""


class SendWithoutProducerNotStored(Check):
    """A stray SEND is one that reached the broker on a connection where its producer was never registered, or was
    closed or refused before. What is stored is counted at the end: a registered producer may have sent the same bytes.
    """

    requirement = RequirementId("robustness.send-without-producer-not-stored")
    skips_plain = True

    def start(self) -> None:
        self._registered: set[Place] = set()
        self._requests: dict[tuple[int, int], Place] = {}
        self._strays: dict[int, Frame] = {}
        self._stray_events: set[int] = set()
        """Event numbers of stray SENDs."""

    @on(Frame, "PRODUCER")
    def producer_requested(self, event: Frame) -> None:
        if event.to_receiver:
            place = (event.conn, event.producer_id or 0)
            self._registered.add(place)
            self._requests[event.conn, event.request_id or 0] = place

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        if event.from_sender and (place := self._requests.pop((event.conn, event.request_id or 0), None)) is not None:
            self._registered.discard(place)

    @on(Frame, "CLOSE_PRODUCER")
    def closed(self, event: Frame) -> None:
        if event.at_broker:
            self._registered.discard((event.conn, event.producer_id or 0))

    @on(Frame, "SEND", seen=CAME)
    def send(self, event: Frame) -> None:
        if (event.conn, event.producer_id or 0) not in self._registered and event.unit is not None:
            self._strays[event.unit] = event
            self._stray_events.add(event.seq)
            self.exercise(event)

    def finish(self) -> None:
        if not self._strays:
            return
        stored: dict[int, list[Stored]] = {}
        regular: Counter[int | None] = Counter()
        for event in self.tracker.history:
            if isinstance(event, Stored) and event.unit in self._strays:
                stored.setdefault(event.unit, []).append(event)
            elif isinstance(event, Frame) and event.command == "SEND" and event.to_receiver:
                regular[event.unit] += event.seq not in self._stray_events
        for unit, send in self._strays.items():
            entries = stored.get(unit, [])
            if len(entries) > regular[unit]:
                place = entries[-1]
                self.breach(
                    "stray-stored",
                    f"the SEND at {ms(send.t_ns)} was for producer {send.producer_id} of connection {send.conn}, which "
                    f"was not registered; expected it not to be stored; it was, on topic {place.topic} as "
                    f"{place.id.name}",
                    send,
                    place,
                )
