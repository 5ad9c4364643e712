from __future__ import annotations

from assay_conformance.pulsar.checks.flow._grants import until_ns
from assay_conformance.pulsar.timeline import Exercised, PermitAccount, Says, Timeline, breach, check, ms


@check("flow.permits-reset-on-reconnect", of=lambda timeline: [one for one in timeline.accounts if one.is_return])
def permits_reset_on_reconnect(timeline: Timeline, account: PermitAccount) -> Says:
    """flow.permits-reset-on-reconnect: the first FLOW after a reconnect grants the receiver queue size again: the queue
    was emptied, and the broker starts at 0 permits.

    A grant for an earlier message may cross the answer to SUBSCRIBE, and then looks like the first one; that of the
    queue size follows it. Grants before that answer are judged by another requirement.
    """
    over, bounds = timeline.consumer_sessions.ends(account.session)[0], timeline.bounds
    grants = [grant for grant in account.grants if grant.frame.seq < over.seq]
    whole = next((grant for grant in (grants or account.grants[:1]) if grant.permits == account.queue), None)
    if whole is not None:
        yield Exercised(whole.frame)
    if whole in grants or account.cut_off or account.admitted is None:
        return
    since_ns, last_ns = account.admitted.t_ns, until_ns(account, over)
    since = f"consumer {account.handle} was subscribed again at {ms(since_ns)} and"
    if not grants and bounds.is_missing("answer", since_ns, last_ns, what="permits"):
        said = f"{since} had granted no permits by {ms(last_ns)}; expected its queue size, {account.queue}"
        yield breach("no-permits-after-reconnect", said, account.admitted, over)
    elif grants and bounds.is_missing("notice", since_ns, last_ns, what="permits"):
        first = grants[0]
        yield breach(
            "wrong-permits-after-reconnect",
            f"{since} granted {first.permits} permits at {ms(first.frame.t_ns)}; expected its queue size, "
            f"{account.queue}, whatever it had granted before",
            *(account.admitted, first.frame),
        )
