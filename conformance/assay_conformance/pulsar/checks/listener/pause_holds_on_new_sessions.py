from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import (
    ConsumerSession,
    Exercised,
    HandlerCall,
    Pause,
    Says,
    Timeline,
    breach,
    check,
    ms,
)
from assay_conformance.pulsar.timeline.handlers import done_ns


def _paused(timeline: Timeline) -> Iterator[tuple[Pause, ConsumerSession]]:
    """Yield sessions that began while their consumer was paused."""
    for pause in timeline.pauses:
        consumer = timeline.consumer(pause.handle)
        held = pause.held
        for session in consumer.sessions if consumer is not None and held is not None else ():
            if held is not None and held.seq < session.request.seq and pause.covers(session.request):
                yield pause, session


def _came_on(timeline: Timeline, call: HandlerCall, session: ConsumerSession) -> bool:
    """Return whether the message of a call was dispatched on this session or a later one, and on none before.

    One that a fault held, and released on a connection on which its consumer had registered again, is of neither.
    """
    entry = timeline.entry_of(call.message)
    copies = [] if entry is None else timeline.copies(call.consumer, entry)
    since = session.request.seq
    return bool(copies) and all(copy.dispatched and copy.session.request.seq >= since for copy in copies)


@check("listener.pause-holds-on-new-sessions", of=_paused)
def pause_holds_on_new_sessions(timeline: Timeline, paused: tuple[Pause, ConsumerSession]) -> Says:
    """listener.pause-holds-on-new-sessions: while a consumer is paused, its handler is not called with messages that
    came on a session that began after the pause.

    What had come before may still be delivered: clients stop asking, or calling.
    """
    pause, session = paused
    assert pause.held is not None
    held_ns = done_ns(pause.held)
    for call in (one for one in timeline.handler_calls if one.consumer.handle == pause.handle):
        if not _came_on(timeline, call, session):
            continue
        if not pause.covers(call.message) and call.began_ns >= (pause.resume or pause.held).t_ns:
            continue
        if timeline.bounds.is_overdue("in-flight", held_ns, call.began_ns, what="a handler call"):
            until = "was not resumed" if pause.resume is None else f"was resumed at {ms(pause.resume.t_ns)}"
            yield breach(
                "called-while-paused",
                f"consumer {pause.handle} was paused at {ms(held_ns)}, subscribed to {session.topic} at "
                f"{ms(session.request.t_ns)}, and {until}; expected no handler call before that with what came of it; "
                f"{call} began at {ms(call.began_ns)}",
                *(pause.held, session.request, call.message),
            )
            return
    if session.admitted is not None:
        yield Exercised(session.admitted)
