from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assay_conformance.model.event import Completion, Frame, Outcome
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms, whose

_COMMANDS: Final = {
    "send": "SEND",
    "ack": "ACK",
    "seek": "SEEK",
    "unsubscribe": "UNSUBSCRIBE",
    "open_producer": "PRODUCER",
    "open_consumer": "SUBSCRIBE",
}
"""Verb -> what it asks a broker by. A nack returns nothing, and a flush or a receive may find nothing to do."""


def _late(timeline: Timeline) -> Iterator[tuple[Completion, Completion]]:
    """Yield the ends of calls after a close that went well, each with the end of that close."""
    closes = timeline.succeeded("close")
    for end in timeline.ends(*_COMMANDS) if closes else ():
        close = closes.get(_on(timeline, end))
        if close is not None and close.seq < timeline.call(end).seq and _names_something(timeline, end):
            yield close, end


def _on(timeline: Timeline, end: Completion) -> int:
    """Return the handle on which a call is made: of an opening, its client."""
    handle = timeline.call(end).args.get("client", end.handle)
    return -1 if handle is None else int(handle)


def _names_something(timeline: Timeline, end: Completion) -> bool:
    """Return whether a call names something that a broker keeps. There is nothing to refuse of an acknowledgment of no
    messages, or of messages of a topic that stores none: the C++ client has no tracker for those (ConsumerImpl)."""
    topics = (base_topic(call.entry.topic) for call in timeline.calls_of(end))
    return end.verb != "ack" or not timeline.non_persistent.issuperset(topics)


@check("robustness.closed-handle-refuses", of=_late)
def closed_handle_refuses(timeline: Timeline, late: tuple[Completion, Completion]) -> Says:
    """robustness.closed-handle-refuses: a call on what has been closed fails, or is sent to a broker, as by the Rust
    client; it does not report success without having sent anything."""
    close, end = late
    yield Exercised(end)
    call, command = timeline.call(end), _COMMANDS[end.verb]
    if end.outcome is Outcome.OK and not any(
        frame.seq > call.seq and _may_be_its(timeline, end, frame) for frame in timeline.events.frames(command)
    ):
        yield breach(
            "succeeded-on-closed",
            f"{end.verb} of handle {end.handle}, called at {ms(call.t_ns)}, succeeded at {ms(end.t_ns)} although the "
            f"close of handle {close.handle} had ended at {ms(close.t_ns)}; expected it to fail, or to send {command}; "
            "it did neither",
            *(close, call, end),
        )


def _may_be_its(timeline: Timeline, end: Completion, frame: Frame) -> bool:
    if frame.dir is not Direction.TO_BROKER or not frame.from_sender:
        return False
    owner = whose(timeline.registered(frame), frame)
    return owner is None or owner.handle in (None, end.handle)
