from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from assay_conformance.checks.consumption import in_force
from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Completion, ErrorClass, Invoke, Outcome
from assay_conformance.pulsar.outcomes.verbs import FAILURE, OF_VERB, VERBS
from assay_conformance.pulsar.timeline import IN_FLIGHT_NS, Exercised, Says, Timeline, breach, check, ms, topics_of
from assay_conformance.pulsar.timeline.handlers import is_let_wait

_JUDGED = tuple(one.verb for one in VERBS if one.failure_by == FAILURE)
_FAILED: Final = (Outcome.FAIL, Outcome.UNKNOWN)
_ENDING: Final = ("close", "unsubscribe", "crash", "exit")


def _ended(timeline: Timeline) -> Iterator[Completion]:
    """Yield whatever failed, and the first success of each verb.

    In drawn Cases too much happens at a time to know of all that it was not in the way.
    """
    if timeline.view.case.generated:
        return
    for verb in _JUDGED:
        has_succeeded = False
        for end in timeline.ends(verb):
            if end.outcome in _FAILED or (end.outcome is Outcome.OK and not has_succeeded):
                has_succeeded = has_succeeded or end.outcome is Outcome.OK
                yield end


@check(FAILURE, of=_ended)
def failure_needs_cause(timeline: Timeline, end: Completion) -> Says:
    """robustness.failure-needs-cause: a call fails over an error, a loss, an answer that does not come, or a limit of
    its own, and over nothing else.

    Which limits a call may meet is a table (`pulsar/outcomes/verbs.py`). Every obstacle that the call may have met
    counts as a cause, whether or not it is known that it did.
    """
    if end.outcome is Outcome.OK:
        yield Exercised(end)
        return
    call = timeline.call(end)
    if end.handle is None or end.error is ErrorClass.FATAL or _is_local(timeline, call, end):
        return
    if _is_ended_by_the_application(timeline, end) or _is_in_the_way(timeline, call, end):
        return
    if end.error is ErrorClass.TIMEOUT:
        timeline.bounds.check_fair("answer", call.t_ns, end.t_ns, what="whether a call that timed out had its time")
    yield breach(
        "failed-without-cause",
        f"{end.verb} of handle {end.handle}, called at {ms(call.t_ns)}, failed at {ms(end.t_ns)} with {end.error} "
        f"({end.text or 'no text'}); expected success: no request was answered by an error, and nothing was lost",
        *(call, end),
    )


def _is_local(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether it may fail so with every broker in order."""
    allows = _ALLOWS.get(end.verb)
    if end.verb == "ack" and call.args.get("of") is not None:
        return True
    if "inside" in call.args and not is_let_wait(timeline.events, call):
        return True
    return end.error in OF_VERB[end.verb].local and (allows is None or allows(timeline, call, end))


def _was_not_asked_for(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether nothing was asked of the broker: settings that are refused are refused before that."""
    if end.error is ErrorClass.INVALID_CONFIG:
        return True
    handle = -1 if end.handle is None else end.handle
    consumer = timeline.consumer(handle)
    sessions = [] if consumer is None else consumer.sessions
    registered = [
        *(one.request for one in sessions),
        *(s.request for p in timeline.producers_of(handle) for s in p.sessions),
    ]
    return not any(call.seq < one.seq < end.seq for one in registered)


def _is_misdirected(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether an acknowledgment is one that its subscription, or its consumer, does not take."""
    consumer = timeline.consumer(end.handle)
    kind = None if consumer is None else in_force(timeline.view, consumer, "subscription_type")
    shared = kind in ("shared", "key_shared")
    return call.args.get("of") is not None or (
        bool(call.args.get("cumulative")) and (shared or _has_several(timeline, end))
    )


def _has_several(timeline: Timeline, end: Completion) -> bool:
    consumer = timeline.consumer(end.handle)
    return consumer is not None and len({one.topic for one in consumer.sessions}) != 1


def _cannot_seek(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether it seeks a place that it does not know, or is a second seek beside another one."""
    if end.error is ErrorClass.INVALID_CONFIG:
        return True
    return _has_several(timeline, end) or bool(timeline.pending.calls(end.handle, "seek", call))


_ALLOWS: Final[dict[str, Callable[[Timeline, Invoke, Completion], bool]]] = {
    "open_producer": _was_not_asked_for,
    "open_consumer": _was_not_asked_for,
    "ack": _is_misdirected,
    "seek": _cannot_seek,
}
"""Where a local error of a verb is allowed only under a condition."""


def _is_ended_by_the_application(timeline: Timeline, end: Completion) -> bool:
    """Return whether the application had begun to end the handle or its client, by another call."""
    opening = timeline.opening_of(end.handle)
    client = None if opening is None else opening.args.get("client")
    others = (call for call in timeline.events.invokes(*_ENDING) if call.op != end.op and call.seq < end.seq)
    return any(
        call.verb in ("crash", "exit") or call.args.get("handle", call.handle) in (end.handle, client)
        for call in others
    )


def _is_in_the_way(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether anything was that a failure may come of, since the handle was known to be well."""
    handle, opening = -1 if end.handle is None else end.handle, timeline.opening_of(end.handle)
    if opening is None or _has_code_inside(timeline, end) or _waits_for_sends(timeline, call, end):
        return True
    if _sends_letters(timeline, end):
        return True
    topics = topics_of(timeline, opening)
    needed = timeline.client_opening(opening) if end.verb in OPENS else opening
    if needed is not None and _had_not_opened(timeline, needed):
        return True
    is_well = end.verb not in OPENS and _is_well(timeline, handle, topics, opening, call)
    if end.verb == "close" and not is_well:
        # A handle that is on its way back, or is none of its broker any more, has nothing left that could be closed.
        return True
    since_ns = call.t_ns - IN_FLIGHT_NS if is_well else opening.t_ns
    return next(timeline.obstacles.between(since_ns, end, handle, topics), None) is not None


def _has_code_inside(timeline: Timeline, end: Completion) -> bool:
    """Return whether code of the application runs inside the client, which may fail for reasons of its own."""
    setting = timeline.view.producer_setting
    return end.verb in ("send", "flush") and any(setting(end.handle or 0, key) for key in ("router", "interceptor"))


def _sends_letters(timeline: Timeline, end: Completion) -> bool:
    """Return whether a receive may also report what became of a letter.

    Some clients send letters while the application waits.
    """
    consumer = timeline.consumer(end.handle)
    keys = ("max_redeliver_count", "retry_letters")
    return consumer is not None and any(in_force(timeline.view, consumer, key) for key in keys)


def _batches(timeline: Timeline, end: Completion) -> bool:
    """Return whether a send may wait for its batch to close for longer than its time-out."""
    return bool(timeline.view.producer_setting(end.handle or 0, "batching"))


def _waits_for_sends(timeline: Timeline, call: Invoke, end: Completion) -> bool:
    """Return whether a send of the producer had not ended when the call did, or ended badly before."""
    if end.verb not in ("send", "flush"):
        return False
    if end.handle in timeline.bursts:
        return True
    read_by_ns = end.t_ns - (IN_FLIGHT_NS if end.error is ErrorClass.TIMEOUT else 0)
    if end.error is ErrorClass.TIMEOUT and timeline.unit_of(end) is None and _batches(timeline, end):
        return True
    for producer in timeline.producers_of(-1 if end.handle is None else end.handle):
        if timeline.pending.was_unanswered(producer, end, read_by_ns):
            return True
    earlier = (one for one in timeline.failed_sends if one.handle == end.handle and one.seq < end.seq)
    return end.verb == "flush" and any(True for _ in earlier)


def _had_not_opened(timeline: Timeline, opening: Invoke) -> bool:
    """Return whether what a call is about, or opens something with, was never open: why is another call's matter."""
    opened = timeline.end_of(opening.op)
    return opened is None or opened.outcome is not Outcome.OK


def _is_well(timeline: Timeline, handle: int, topics: Iterable[str], opening: Invoke, call: Invoke) -> bool:
    """Return whether all of it was registered when the call was made, and no broker had refused it anything before."""
    before = timeline.obstacles.between(opening.t_ns, call, handle, topics)
    if any(one.is_error for one in before):
        return False
    consumer, settled = timeline.consumer(handle), call.t_ns - IN_FLIGHT_NS
    if consumer is not None:
        sessions = timeline.sessions_at(consumer, call)
        admitted = [one.admitted if one is not None else None for one in sessions.values()]
        unsure = any(timeline.is_unsure(consumer, topic, call) for topic in sessions)
        return bool(sessions) and not unsure and all(one is not None and one.t_ns < settled for one in admitted)
    return timeline.is_registered(handle, call)
