from __future__ import annotations

from assay_conformance.history.events import between, in_order
from assay_conformance.model.event import Completion, Event
from assay_conformance.pulsar.checks.flow._grants import until_ns
from assay_conformance.pulsar.checks.flow._zero_queue import zero_queue_accounts
from assay_conformance.pulsar.timeline import Exercised, PermitAccount, Says, Timeline, breach, check, ms


def _returns(timeline: Timeline) -> list[PermitAccount]:
    return [account for account in zero_queue_accounts(timeline) if account.is_return]


@check("flow.zero-queue-renews-after-reconnect", of=_returns)
def zero_queue_renews_after_reconnect(timeline: Timeline, account: PermitAccount) -> Says:
    """flow.zero-queue-renews-after-reconnect: after a reconnect the permit of a receive that waits is granted again.

    A breach shows in a receive that waited for long enough and ended without a message, or still waits when the session
    ends.
    """
    grants = [grant.frame for grant in account.grants if grant.permits]
    first, admitted = (grants[0] if grants else None), account.session.admitted
    if first is not None and _asked_ns(timeline, account, first) is not None:
        yield Exercised(first)
    if admitted is None:
        return
    ends = timeline.consumer_sessions.ends(account.session)
    receives = between(timeline.events.completions_of(account.handle, "receive"), admitted, ends[0])
    for over in in_order([*ends, *(end for end in receives if not end.count)]):
        if first is not None and first.seq < over.seq:
            return
        since_ns, last_ns = _since_ns(timeline, account, over), until_ns(account, over)
        if since_ns is None or not timeline.bounds.is_past("answer", since_ns, last_ns):
            continue
        if timeline.bounds.is_missing("answer", since_ns, last_ns, what="a permit"):
            yield breach(
                "waits-without-permit",
                f"consumer {account.handle} has a receiver queue of 0, and its application waits for a message; it "
                f"was subscribed again at {ms(admitted.t_ns)}; expected it to grant a permit; it had granted none by "
                f"{ms(last_ns)}",
                *(admitted, over),
            )


def _since_ns(timeline: Timeline, account: PermitAccount, over: Event) -> int | None:
    """Return since when a permit was due that had not come when a receive ended, or the session was over."""
    admitted = account.session.admitted
    if admitted is None:
        return None
    if isinstance(over, Completion):
        call = timeline.call_of(over.op)
        return admitted.t_ns if call is not None and call.seq < admitted.seq else None
    asked_ns = _asked_ns(timeline, account, over)
    return None if asked_ns is None else max(admitted.t_ns, asked_ns)


def _asked_ns(timeline: Timeline, account: PermitAccount, at: Event) -> int | None:
    """Return when the application last asked for a message, where some receive was waiting; None where none was."""
    called = between(timeline.events.invokes_of(account.handle, "receive"), None, at).last
    return called.t_ns if called is not None and timeline.pending.calls(account.handle, "receive", at) else None
