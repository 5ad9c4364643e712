from __future__ import annotations

from assay_conformance.pulsar.checks.subscription._unsubscribing import (
    Unsubscribed,
    answered,
    may_be_unread,
    unsubscribed,
)
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ended_ns,
    ms,
)


@check("subscription.unsubscribe-ends-subscription", of=unsubscribed)
def unsubscribe_ends_subscription(timeline: Timeline, one: Unsubscribed) -> Says:
    """subscription.unsubscribe-ends-subscription: unsubscribe sends UNSUBSCRIBE for every topic of the consumer,
    succeeds if and only if each was answered with SUCCESS, and the consumer does not subscribe again."""
    consumer, end = one.consumer, one.end
    if not one.sessions or any(timeline.is_unsure(consumer, session.topic, end) for session in one.sessions):
        return
    yield Exercised(end)
    without = [session for session in one.sessions if not _has_succeeded(timeline, session, one)]
    if one.succeeded and without:
        asked, answer = answered(timeline, without[0])
        came = (
            "no UNSUBSCRIBE was sent"
            if asked is None
            else f"its answer was {'none' if answer is None else answer.command}"
        )
        yield breach(
            "not-unsubscribed",
            f"unsubscribe of consumer {consumer.handle} succeeded at {ms(end.t_ns)}; expected SUCCESS for topic "
            f"{without[0].topic} before that; {came}",
            end,
            *(frame for frame in (asked, answer) if frame is not None),
        )
    if not one.succeeded and one.everywhere and not without and not _was_too_late(timeline, one):
        yield breach(
            "failed",
            f"unsubscribe of consumer {consumer.handle} failed at {ms(end.t_ns)} ({end.error}); expected success, for "
            f"each of its {len(one.sessions)} topics was unsubscribed with SUCCESS",
            *(one.call, end),
        )
    back = next((session for session in consumer.sessions if _is_back(session, one)), None)
    if one.succeeded and back is not None:
        yield breach(
            "came-back",
            f"unsubscribe of consumer {consumer.handle} succeeded at {ms(end.t_ns)}; expected no SUBSCRIBE after that; "
            f"it subscribed to {back.topic} again at {ms(back.request.t_ns)}",
            *(end, back.request),
        )


def _has_succeeded(timeline: Timeline, session: ConsumerSession, one: Unsubscribed) -> bool:
    _, answer = answered(timeline, session)
    return answer is not None and answer.command == "SUCCESS" and answer.seq < one.end.seq


def _was_too_late(timeline: Timeline, one: Unsubscribed) -> bool:
    """Return whether an answer may not have been read before the client said how the call ended."""
    answers = [answer for session in one.sessions if (answer := answered(timeline, session)[1]) is not None]
    ended = ended_ns(one.end)
    in_time = all(timeline.bounds.is_past("in-flight", answer.t_ns, ended) for answer in answers)
    return not in_time or may_be_unread(timeline, one)


def _is_back(session: ConsumerSession, one: Unsubscribed) -> bool:
    return session.request.t_ns > one.end.t_ns + IN_FLIGHT_NS and session.request.from_sender
