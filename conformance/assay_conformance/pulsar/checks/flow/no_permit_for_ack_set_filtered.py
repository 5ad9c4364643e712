"""flow.no-permit-for-ack-set-filtered"""

from __future__ import annotations

from assay_conformance.pulsar.checks.flow._grants import later_grants
from assay_conformance.pulsar.timeline import Exercised, Grant, Says, Timeline, breach, check, ms


@check("flow.no-permit-for-ack-set-filtered", of=later_grants)
def no_permit_for_ack_set_filtered(_timeline: Timeline, grant: Grant) -> Says:
    """flow.no-permit-for-ack-set-filtered: messages that an ack_set takes out of their batch return no permit.

    A breach is that more permits are open than the queue holds, by no more than what ack_sets took out.
    """
    account, balance = grant.account, grant.balance
    if balance.filtered and balance.outstanding <= account.queue:
        yield Exercised(grant.frame)
    elif balance.filtered and balance.outstanding <= account.queue + balance.filtered:
        yield breach(
            "permits-for-filtered",
            f"consumer {account.handle} granted {grant.permits} permits at {ms(grant.frame.t_ns)}; "
            f"{balance.outstanding} are open then, its queue holds {account.queue}. {balance.filtered} messages had "
            "come that an ack_set takes out of their batch, and for which the broker had charged nothing",
            *(balance.last_filtered, grant.frame),
        )
