from __future__ import annotations

from assay_conformance.pulsar.checks.flow._grants import later_grants
from assay_conformance.pulsar.timeline import Exercised, Grant, Says, Timeline, breach, check, ms


@check("flow.permits-within-queue", of=later_grants)
def permits_within_queue(_timeline: Timeline, grant: Grant) -> Says:
    """flow.permits-within-queue: a consumer has granted at most as many permits as messages have come for them, plus
    its queue size.

    Counted is what was written towards the client: what it had not read yet makes this bound wider, never narrower. An
    excess of no more than the messages that ack_sets filtered out is judged by `flow.no-permit-for-ack-set-filtered`.
    """
    account, balance, first = grant.account, grant.balance, grant.account.grants[0]
    if balance.available <= account.queue:
        yield Exercised(grant.frame)
    elif balance.available > account.queue + balance.filtered:
        yield breach(
            "more-than-the-queue",
            f"consumer {account.handle} had granted {balance.granted} permits by {ms(grant.frame.t_ns)} and "
            f"{balance.charged} messages had used some up; {balance.available} are open then; expected at most "
            f"{account.queue}, its queue size",
            *(first.frame, grant.frame),
        )
