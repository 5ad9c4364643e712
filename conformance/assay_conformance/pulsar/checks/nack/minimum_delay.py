from __future__ import annotations

from assay_conformance.checks.consumption import elapsed
from assay_conformance.checks.tracker import Call
from assay_conformance.ledger.clauses import LEAST_DELAY_MS
from assay_conformance.pulsar.checks.nack._timers import timed
from assay_conformance.pulsar.checks.nack._windows import least_window_of
from assay_conformance.pulsar.timeline import MS, Consumer, Entry, Exercised, Says, Timeline, breach, check
from assay_conformance.pulsar.timeline.moments import RedeliverWritten, SettleCalled


@check("nack.minimum-delay", of=lambda timeline: timeline.nacking)
def minimum_delay(timeline: Timeline, consumer: Consumer) -> Says:
    """nack.minimum-delay: redelivery is requested no earlier than the minimum of 100 ms, less the client's precision.
    Judged where the configured delay is below that.

    Messages of a batch wait each for its own time, and so do those that were nearly due when everything was requested.
    An entry with a message whose retry letter fails may be requested at once.
    """
    delay_ms, window = timeline.setting(consumer, "nack_delay_ms"), least_window_of(timeline.view, consumer)
    is_raised = delay_ms is not None and delay_ms < LEAST_DELAY_MS
    if not is_raised or window is None or window.earliest_ns <= 0 or timeline.setting(consumer, "ack_timeout_ms"):
        return
    nacked: dict[Entry, Call] = {}
    for moment, due in timed(timeline, consumer, window):
        if isinstance(moment, SettleCalled) and moment.is_nack:
            nacked.setdefault(moment.entry, moment.call)
        elif isinstance(moment, RedeliverWritten):
            found, event = [call for entry, call in nacked.items() if moment.ends(entry)], moment.event
            if found and due:
                yield Exercised(event)
            elif found and not moment.may_be_called_for:
                call = min(found, key=lambda call: call.invoke.t_ns)
                yield breach(
                    "below-minimum",
                    f"consumer {consumer.handle} requested redelivery of {call.entry} "
                    f"{elapsed(event.t_ns, call.invoke.t_ns)} after the application had nacked it; expected at least "
                    f"{window.earliest_ns // MS} ms",
                    *(call.invoke, event),
                )
            for call in found:
                # A request for everything was meant for those that were due: the others' own may still come.
                if moment.named or call.entry in due:
                    del nacked[call.entry]
