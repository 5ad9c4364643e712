from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms

Place = tuple[int, int]
"""Connection and producer id."""


def _of_unregistered(timeline: Timeline) -> Iterator[Frame]:
    """Yield SENDs that reached a broker where their producer was not registered, or was closed or refused."""
    registered: set[Place] = set()
    requests: dict[tuple[int, int], Place] = {}
    for frame in timeline.events.frames("PRODUCER", "ERROR", "CLOSE_PRODUCER", "SEND"):
        place, request = (frame.conn, frame.producer_id or 0), (frame.conn, frame.request_id or 0)
        if frame.command == "SEND":
            if frame.to_receiver and place not in registered and frame.unit is not None:
                yield frame
        elif frame.command == "PRODUCER" and frame.to_receiver:
            registered.add(place)
            requests[request] = place
        elif frame.command == "ERROR" and frame.from_sender and request in requests:
            registered.discard(requests.pop(request))
        elif frame.command == "CLOSE_PRODUCER" and frame.at_broker:
            registered.discard(place)


@check("robustness.send-without-producer-not-stored")
def send_without_producer_not_stored(timeline: Timeline) -> Says:
    """robustness.send-without-producer-not-stored: a SEND for a producer that is not registered on its connection is
    not stored. A registered producer may have sent the same bytes: as many entries are its own."""
    unregistered = list(_of_unregistered(timeline))
    yield from (Exercised(send) for send in unregistered)
    by_unit, ours = {send.unit: send for send in unregistered}, {send.seq for send in unregistered}
    sends = timeline.events.frames("SEND") if unregistered else ()
    regular = Counter(one.unit for one in sends if one.to_receiver and one.seq not in ours)
    stored: dict[int | None, list[Stored]] = defaultdict(list)
    for entry in timeline.events.of(Stored) if unregistered else ():
        stored[entry.unit].append(entry)
    yield from each(by_unit.values(), _judge_not_stored, stored, regular)


def _judge_not_stored(stored: Mapping[int | None, Sequence[Stored]], regular: Counter[int | None], send: Frame) -> Says:
    entries = stored.get(send.unit, ())
    if len(entries) > regular[send.unit]:
        last = entries[-1]
        yield breach(
            "stray-stored",
            f"the SEND at {ms(send.t_ns)} was for producer {send.producer_id} of connection {send.conn}, which was not "
            f"registered; expected it not to be stored; it was, on topic {last.topic} as {last.id.name}",
            *(send, last),
        )
