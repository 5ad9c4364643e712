from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.checks.consumption import in_force
from assay_conformance.history.events import OPENS, between
from assay_conformance.model.event import Completion, Frame, Outcome
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.robustness._asked import CallRequest, asked
from assay_conformance.pulsar.outcomes.verbs import SUCCESS, VERBS
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

_JUDGED = tuple(one.verb for one in VERBS if one.success_by == SUCCESS)


@check(SUCCESS, of=lambda timeline: timeline.ends(*_JUDGED))
def success_needs_answer(timeline: Timeline, end: Completion) -> Says:
    """robustness.success-needs-answer: a call reports success when what it asked for was answered well, and not
    otherwise.

    Which verb asks for what, and where success without an answer is right, is a table (`pulsar/outcomes/verbs.py`).
    """
    found = asked(timeline, end)
    refused = [one for one in found if not one.good]
    bad = [] if _is_spared(end) else refused
    if end.outcome is not Outcome.OK:
        # An opening may fail before it registers, over a lookup that was refused.
        if end.outcome is not Outcome.UNSUPPORTED and (refused or end.verb in OPENS):
            yield Exercised(end)
        return
    if _is_met(timeline, end, found, bad):
        if refused or _is_closed_meanwhile(timeline, end):
            yield Exercised(end)
        return
    call = timeline.call(end)
    what = f"{end.verb} of handle {end.handle}, called at {ms(call.t_ns)}, succeeded at {ms(end.t_ns)}"
    if not bad:
        yield breach("never-asked", f"{what}; expected it to send a request for that; it sent none", call, end)
        return
    one = bad[0]
    answer = one.answer
    came = "there was none" if answer is None else f"it was {_named(answer)}"
    where = f" for {one.what}" if one.what else ""
    yield breach(
        "without-answer" if answer is None else "against-error",
        f"{what}; expected an answer without an error before that to its {one.frame.command}{where} of "
        f"{ms(one.frame.t_ns)}; {came}",
        *(one.frame, answer, end),
    )


def _named(answer: Frame) -> str:
    waits = " that says to wait" if answer.fields.get("producer_ready") is False else ""
    return answer.fields.get("error") or f"{answer.command}{waits}"


def _is_closed_meanwhile(timeline: Timeline, end: Completion) -> bool:
    """Return whether what an opening opens, or its client, was being closed when it ended.

    A client that connects as it is opened (pulsar-rs 6.9.1) has got CONNECTED by then, and may finish the opening.
    """
    closing = timeline.closing(end.handle) if end.verb in OPENS else None
    return closing is not None and closing.seq < end.seq


def _is_spared(end: Completion) -> bool:
    """Return whether a success needs no answer.

    A connection that ends takes with it what is to be closed; and the Go client's Close returns nothing, so that its
    success says no more than that it has ended.
    """
    return end.verb == "close"


def _is_met(timeline: Timeline, end: Completion, found: Sequence[CallRequest], bad: Sequence[CallRequest]) -> bool:
    """Return whether an end that reports success owes nothing more."""
    if end.verb == "has_message_available":
        return bool(end.values.get("available")) or not bad
    if end.verb == "seek":
        return _others_seek(timeline, end) or (not bad and (bool(found) or not _is_attached(timeline, end)))
    if end.verb == "open_producer" and timeline.opens_lazily(end.handle):
        return len(bad) < len(found) or not found
    if end.verb == "open_consumer":
        by_pattern = bool(timeline.call(end).args.get("pattern"))
        return len(bad) < len(found) or not found if by_pattern else not bad and not _has_left_out(timeline, end, found)
    return not bad


def _others_seek(timeline: Timeline, end: Completion) -> bool:
    """Return whether another seek of the consumer went on meanwhile: which of them an answer is for is not known."""
    call = timeline.call(end)
    later = between(timeline.events.invokes_of(end.handle, "seek"), call, end)
    return bool(later) or bool(timeline.pending.calls(end.handle, "seek", call))


def _is_attached(timeline: Timeline, end: Completion) -> bool:
    consumer, call = timeline.consumer(end.handle), timeline.call(end)
    return consumer is not None and any(
        session is not None and not timeline.is_unsure(consumer, topic, end)
        for topic, session in timeline.sessions_at(consumer, call).items()
    )


def _of_unknown_consumers(timeline: Timeline) -> set[str]:
    """Return topics with a SUBSCRIBE of which the consumer is not known."""
    return {base_topic(one.topic) for one in timeline.consumer_sessions.all if one.consumer is None}


def _has_left_out(timeline: Timeline, end: Completion, found: Sequence[CallRequest]) -> bool:
    """Return whether a topic was never subscribed to, of those that the consumer is to have."""
    consumer = timeline.consumer(end.handle)
    if consumer is None or in_force(timeline.view, consumer, "durable") is False:
        return False
    its = {base_topic(one.what) for one in found}
    unsure = timeline.once(_of_unknown_consumers)
    return any(topic not in its and topic not in unsure for topic in map(base_topic, consumer.topics))
