from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.wire import CommandType
from assay_conformance.wire.service_urls import SERVICE_URL_FIELDS


def _through_the_proxy(timeline: Timeline) -> Iterator[tuple[Frame, Frame]]:
    """Yield every PRODUCER and SUBSCRIBE on a topic whose last lookup leads through the proxy, and its answer."""
    answers = [
        (one.answer, str(one.frame.fields.get("topic", "")))
        for one in timeline.requests("LOOKUP")
        if one.answer is not None and one.answer.fields.get("response") == "Connect"
    ]
    if not any(answer.fields.get("proxy_through_service_url") for answer, _ in answers):
        return
    topics = {answer.seq: topic for answer, topic in answers}
    last: dict[str, Frame] = {}
    for frame in timeline.events.frames("LOOKUP_RESPONSE", "PRODUCER", "SUBSCRIBE"):
        if frame.seq in topics:
            last[topics[frame.seq]] = frame
        elif frame.command != "LOOKUP_RESPONSE" and frame.from_sender:
            answer = last.get(str(frame.fields.get("topic", "")))
            if answer is not None and answer.fields.get("proxy_through_service_url"):
                yield frame, answer


@check("connection.proxy-to-broker-url", of=_through_the_proxy)
def proxy_to_broker_url(timeline: Timeline, registered: tuple[Frame, Frame]) -> Says:
    """connection.proxy-to-broker-url: after a lookup that leads through the proxy, PRODUCER and SUBSCRIBE go over a
    connection whose CONNECT names that broker.

    A broker may be its own proxy, like a standalone Pulsar: connections to it need not name it.
    """
    frame, answer = registered
    brokers = {_address(answer.fields.get(name)) for name in SERVICE_URL_FIELDS[CommandType.LOOKUP_RESPONSE]} - {""}
    handshake = timeline.handshakes.on(frame.conn)
    connect = None if handshake is None else handshake.connect
    named = "" if connect is None else _address(connect.fields.get("proxy_to_broker_url"))
    asked_at, came_to = (_address(timeline.connection(one.conn).url) for one in (answer, frame))
    if named in brokers:
        yield Exercised(frame)
    elif named or asked_at not in brokers or asked_at != came_to:
        yield breach(
            "not-named",
            f"the lookup answer at {ms(answer.t_ns)} leads through the proxy to {' or '.join(sorted(brokers))}; "
            f"expected {frame.command} on a connection whose CONNECT names it; it left at {ms(frame.t_ns)} on "
            f"connection {frame.conn}, whose CONNECT names {named or 'no broker'}",
            *(answer, frame),
        )


def _address(url: object) -> str:
    """Return the address without the scheme, which clients leave out."""
    return str(url or "").rpartition("//")[2].rstrip("/")
