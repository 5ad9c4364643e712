from __future__ import annotations

from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, check, ms


@check("flow.initial-permits-equal-queue-size", of=lambda timeline: timeline.consumer_sessions.all)
def initial_permits_equal_queue_size(timeline: Timeline, session: ConsumerSession) -> Says:
    """flow.initial-permits-equal-queue-size: the first FLOW of a consumer follows the SUCCESS of its SUBSCRIBE and
    grants its receiver queue size.

    Consumers of several topics or partitions divide their queue as their client likes, and one with a queue of 0 grants
    permits one by one: of those only the order is judged.
    """
    flows = timeline.consumer_sessions.frames(session, "FLOW")
    first, admitted = next((flow for flow in flows if flow.at_client), None), session.admitted
    if first is not None and (admitted is None or first.seq < admitted.seq):
        yield breach(
            "before-success",
            f"consumer id {first.consumer_id} on connection {first.conn} granted {first.permits} permits at "
            f"{ms(first.t_ns)}; expected no FLOW before the answer to its SUBSCRIBE of {ms(session.request.t_ns)}",
            *(session.request, first),
        )
        return
    account = timeline.account(session)
    if account is None or account.admitted is None or not account.is_first:
        return
    if account.first is not None:
        yield Exercised(account.first.frame)
        if account.first.permits != account.queue:
            yield breach(
                "wrong-first-permits",
                f"consumer {account.handle} granted {account.first.permits} permits at {ms(account.first.frame.t_ns)}, "
                f"its first after subscribing, expected its queue size, {account.queue}",
                *(admitted, account.first.frame),
            )
        return
    over = timeline.consumer_sessions.ends(session)[0]
    since_ns = account.admitted.t_ns
    if not account.cut_off and timeline.bounds.is_overdue("answer", since_ns, over.t_ns, what="permits"):
        yield breach(
            "no-permits",
            f"consumer {account.handle} was subscribed at {ms(since_ns)}; expected it to grant permits; it had "
            f"granted none by {ms(over.t_ns)}",
            *(admitted, over),
        )
