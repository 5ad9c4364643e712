from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from assay_conformance.history.events import between, in_order
from assay_conformance.model.event import Completion, Event, Invoke
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
    own = timeline.once(_receives).get(account.handle, _Receives()).starved
    for over in in_order([*ends, *between(own, admitted, ends[0])]):
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
    receives = timeline.once(_receives).get(account.handle, _Receives())
    place = len(between(receives.calls, None, at))
    return receives.calls[place - 1].t_ns if place and receives.last_ends[place - 1] >= at.seq else None


@dataclass(slots=True)
class _Receives:
    """Those of a consumer, in order. `last_ends`: when (`seq`) the last of those up to each ended. `starved`: ends
    without a message."""

    calls: list[Invoke] = field(default_factory=list)
    last_ends: list[float] = field(default_factory=list)
    starved: list[Completion] = field(default_factory=list)


def _receives(timeline: Timeline) -> dict[int | None, _Receives]:
    """Return the receives by handle, for lookup: a consumer may reconnect as often as it receives."""
    found: dict[int | None, _Receives] = {}
    for call in timeline.events.invokes("receive"):
        its, end = found.setdefault(call.handle, _Receives()), timeline.end_of(call.op)
        its.calls.append(call)
        its.last_ends.append(max([inf if end is None else end.seq, *its.last_ends[-1:]]))
    for one in timeline.events.completions("receive"):
        if not one.count:
            found.setdefault(one.handle, _Receives()).starved.append(one)
    return found
