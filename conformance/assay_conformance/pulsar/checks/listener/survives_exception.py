from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import moves_to_dead_letter
from assay_conformance.model.event import Completion, Frame
from assay_conformance.pulsar.timeline import Exercised, HandlerCall, Says, Timeline, breach, check, left_waiting, ms


def _raised(timeline: Timeline) -> Iterator[HandlerCall]:
    return (call for call in timeline.handler_calls if call.raised)


@check("listener.survives-exception", of=_raised)
def survives_exception(timeline: Timeline, call: HandlerCall) -> Says:
    """listener.survives-exception: a handler that raises an exception is called with what comes next, and the client
    does not acknowledge the message for which it raised.

    Acknowledgments that a client sends by itself, for a reader or a dead letter, do not count.
    """
    acked = _acked_by_client(timeline, call)
    if acked is not None:
        yield breach(
            "acknowledged",
            f"{call} ended in an exception at {ms(call.ended_ns or 0)}; expected its message to stay unacknowledged; "
            f"the client acknowledged it at {ms(acked.t_ns)}",
            *(call.message, acked),
        )
    for end in _starved(timeline, call):
        waiting = left_waiting(timeline, call.consumer, end)
        if waiting is not None:
            yield breach(
                "not-called-again",
                f"{call} ended in an exception at {ms(call.ended_ns or 0)}; expected the handler to be called with "
                f"entry {waiting.frame.ids[0]}, which had arrived at {ms(waiting.frame.t_ns)}; it was not by "
                f"{ms(end.t_ns)}",
                *(call.message, waiting.frame, end),
            )
            return
    later = next((one for one in timeline.handler_calls if _is_behind(one, call)), None)
    if later is not None and acked is None:
        yield Exercised(later.message)


def _is_behind(one: HandlerCall, call: HandlerCall) -> bool:
    return one.consumer is call.consumer and call.end is not None and call.end.seq < one.message.seq


def _starved(timeline: Timeline, call: HandlerCall) -> Iterator[Completion]:
    """Yield waits after a handler call for calls that did not all come, while none of the consumer's came."""
    if any(_is_behind(one, call) for one in timeline.handler_calls):
        return
    for end in timeline.starved:
        if end.handle == call.consumer.handle and call.is_over_before(end):
            yield end


def _acked_by_client(timeline: Timeline, call: HandlerCall) -> Frame | None:
    """Return the ACK of its entry, which the application did not ask for."""
    entry, consumer = timeline.entry_of(call.message), call.consumer
    if entry is None or not consumer.invoke.args.get("config", {}).get("durable", True):
        return None
    if moves_to_dead_letter(timeline.view, consumer) or call.message.message_id.batch_index >= 0:
        return None
    if any(one.invoke.verb != "nack" for one in timeline.calls_about(consumer, entry)):
        return None
    acks = (ack for copy in timeline.copies(consumer, entry) for ack in copy.acks)
    return next((ack for ack in acks if call.end is not None and not _names_a_later_one(ack)), None)


def _names_a_later_one(ack: Frame) -> bool:
    return ack.ack_type == "Cumulative"
