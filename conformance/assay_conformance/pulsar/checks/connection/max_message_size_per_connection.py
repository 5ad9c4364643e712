from __future__ import annotations

from assay_conformance.model.event import Completion, ErrorClass, Event, Frame
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import Exercised, ProducerSession, Says, Timeline, breach, check, each, ms

METADATA_BYTES = 1_024
"""Room for the metadata of a message that has no properties."""


@check("connection.max-message-size-per-connection")
def max_message_size_per_connection(timeline: Timeline) -> Says:
    """connection.max-message-size-per-connection: the limit on the size of a message is that of the connection it
    leaves on, whatever another connection announced.

    Judged are messages alone in their frame, uncompressed and without properties: of others the size on the wire is not
    the size that the application sent.
    """
    again = {resent.frame.seq for resent in timeline.resent}
    alone = (one for one in timeline.events.frames("SEND") if _is_alone(one) and one.seq not in again)
    refused = (end for end in timeline.failed_sends if end.error is ErrorClass.TOO_LARGE)
    yield from each(alone, _fits, timeline)
    yield from each(refused, _does_not_fit, timeline)


def _is_alone(send: Frame) -> bool:
    meta = send.meta if send.from_sender else None
    if meta is None or meta.batch or meta.chunk_id is not None or meta.compression != "NONE":
        return False
    return len(send.members) == 1


def _limits(timeline: Timeline, event: Event) -> list[int]:
    """Return the limits that brokers had announced by then."""
    announced = (one.max_message_bytes for one in timeline.handshakes if one.is_before(event))
    return [limit for limit in announced if limit is not None]


def _fits(timeline: Timeline, send: Frame) -> Says:
    size, limit = send.members[0].size, timeline.announced_limit(send)
    if limit is None or not any(size > other for other in _limits(timeline, send)):
        return
    if size > limit and not _was_measured_before(timeline, send):
        yield breach(
            "sent-too-large",
            f"a message of {size} bytes left on connection {send.conn} at {ms(send.t_ns)}; expected at most {limit}, "
            "the max_message_size of its CONNECTED",
            send,
        )
    else:
        yield Exercised(send)


def _was_measured_before(timeline: Timeline, frame: Frame) -> bool:
    """Return whether it was sent, and so measured, before its producer was on this connection."""
    session = timeline.session_of(frame)
    if session is None or session.admitted is None or session.line is None or session.line.handle is None:
        return False
    numbers = timeline.numbers(frame, session)
    send = timeline.send(session.line.handle, numbers[0]) if numbers else None
    return send is not None and send.invoke.seq < session.admitted.seq


def _does_not_fit(timeline: Timeline, end: Completion) -> Says:
    call, session = timeline.call(end), _session(timeline, end)
    limit = None if session is None else timeline.announced_limit(session.request)
    if session is None or limit is None or end.handle is None or call.args.get("properties"):
        return
    size = call.size or 0
    if size + METADATA_BYTES <= limit and not timeline.view.producer_setting(end.handle, "batching"):
        yield breach(
            "refused-though-it-fits",
            f"producer {end.handle}: message {call.number} of {size} bytes failed as too large at {ms(end.t_ns)}; "
            f"expected it to be sent, since connection {session.conn} has a max_message_size of {limit}",
            *(session.admitted, end),
        )
    elif size > limit and any(size <= other for other in _limits(timeline, end)):
        yield Exercised(end)


def _session(timeline: Timeline, end: Completion) -> ProducerSession | None:
    """Return the session of the send's producer, where it was the same from the call to its end.

    For a message that never left it is unknown which partition, and so which connection, it was for.
    """
    called = timeline.call(end).seq
    producers = timeline.producers_of(-1 if end.handle is None else end.handle)
    sessions = [one for producer in producers for one in producer.sessions if one.request.seq < end.seq]
    ready = [one for one in sessions if one.was_admitted(timeline.call(end))]
    if not ready or any(one.request.seq > called for one in sessions) or is_partition(ready[-1].topic):
        return None
    return None if timeline.had_closed(ready[-1].conn, end) else ready[-1]
