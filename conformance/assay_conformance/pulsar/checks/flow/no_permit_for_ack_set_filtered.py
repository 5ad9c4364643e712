from __future__ import annotations

from assay_conformance.pulsar.checks.flow._grants import later_grants
from assay_conformance.pulsar.timeline import Exercised, Grant, Says, Timeline, breach, check, ms


@check("flow.no-permit-for-ack-set-filtered", of=later_grants)
def no_permit_for_ack_set_filtered(_timeline: Timeline, grant: Grant) -> Says:
    """flow.no-permit-for-ack-set-filtered: messages that an ack_set filters out of their batch return no permit.

    A breach: more permits are available than the queue holds, by no more than the number of messages that ack_sets
    filtered out.
    """
    account, balance = grant.account, grant.balance
    if balance.filtered and balance.available <= account.queue:
        yield Exercised(grant.frame)
    elif balance.filtered and balance.available <= account.queue + balance.filtered:
        yield breach(
            "permits-for-filtered",
            f"consumer {account.handle} granted {grant.permits} permits at {ms(grant.frame.t_ns)}; "
            f"{balance.available} are open then; expected at most {account.queue}, its queue size, and no "
            f"permits for the {balance.filtered} messages that ack_sets had filtered out: the broker charged nothing "
            "for them",
            *(balance.last_filtered, grant.frame),
        )
