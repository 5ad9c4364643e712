from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.consumption import of_batch
from assay_conformance.checks.tracker import Call
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.nack._windows import window_of
from assay_conformance.pulsar.timeline import Consumer, Entry, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.moments import Delivered, Dispatched, RedeliverWritten, SessionOver, SettleCalled


@check("nack.ends-ack-timeout", of=lambda timeline: timeline.nacking)
def ends_ack_timeout(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.ends-ack-timeout: a nacked message is requested once until it is redelivered, and not before its redelivery
    delay has passed. Judged where requests name messages, and an acknowledgment time-out is configured; of batches
    whose messages are all nacked by one call."""
    if not timeline.setting(consumer, "ack_timeout_ms"):
        return
    nacked: dict[Entry, tuple[Call, Frame | None]] = {}
    members: dict[Entry, list[Call]] = {}
    for moment in timeline.moments(consumer):
        if isinstance(moment, SettleCalled):
            call = moment.call
            nacked.pop(call.entry, None)
            if moment.is_nack:
                nacks = members.setdefault(call.entry, [])
                nacks.append(call)
                if _is_nacked(timeline, consumer, nacks) and moment.session is not None:
                    nacked[call.entry] = (call, None)
        elif isinstance(moment, Delivered) or (isinstance(moment, Dispatched) and moment.event.from_sender):
            nacked.pop(moment.entry, None)  # Another copy, with a clock of its own.
        elif isinstance(moment, SessionOver):
            nacked.clear()
        elif isinstance(moment, RedeliverWritten) and moment.named:
            for entry in [entry for entry in nacked if moment.ends(entry)]:
                call, request = nacked.pop(entry)
                if _was_known(timeline, call, moment.event):
                    found = _found(timeline, call, request, moment.event)
                    if found is None:
                        nacked[entry] = (call, moment.event)
                        yield Exercised(moment.event)
                    else:
                        code, words = found
                        yield breach(
                            code,
                            f"the application nacked {entry} on consumer {consumer.handle} at {ms(call.invoke.t_ns)}, "
                            f"and the client requested its redelivery at {ms(moment.event.t_ns)}, {words}; expected "
                            "one request, after the delay",
                            *(call.invoke, request, moment.event),
                        )


def _is_nacked(timeline: Timeline, consumer: Consumer, nacks: Sequence[Call]) -> bool:
    """Return whether these are nacks of all that an entry holds, at one time.

    What was nacked twice may be requested twice. A batch is delivered in parts, and each starts the clock.
    """
    at, indexes = {call.invoke.seq for call in nacks}, [call.message.message_id.batch_index for call in nacks]
    copies = timeline.copies(consumer, nacks[0].entry) if of_batch(nacks[0].message.message_id) else ()
    held = max((len(copy.frame.members) for copy in copies), default=1)
    return len(at) == 1 and len(indexes) == len(set(indexes)) == held


def _was_known(timeline: Timeline, call: Call, event: Frame) -> bool:
    """Return whether the client knew of the nack: else the request left at that moment, for another reason."""
    return not call.operation.is_pending(event) and timeline.bounds.is_past("crossing", call.called_ns, event.t_ns)


def _found(timeline: Timeline, call: Call, request: Frame | None, event: Frame) -> tuple[str, str] | None:
    window = window_of(timeline.view, call.consumer)
    if request is not None:
        return "asked-twice", f"and before that at {ms(request.t_ns)}"
    if window is not None and timeline.bounds.is_before(
        "nack-early", call.invoke.t_ns + window.earliest_ns, event.t_ns
    ):
        return "still-timed-out", "before its redelivery delay was over"
    return None
