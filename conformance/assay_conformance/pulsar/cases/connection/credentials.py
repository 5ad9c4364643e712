"""A credentials supplier that gives new credentials, is slow, fails, or gives empty ones: at the first connection, at a
reconnect, and when the broker asks for fresh credentials.
"""

from __future__ import annotations

from typing import Any, Final

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Isolation, Limits, Topology
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault
from assay_conformance.model.policy import BrokerSettings

_TIMEOUT_MS: Final = 4_000
_LIMITS: Final = Limits(operation_ms=3 * _TIMEOUT_MS)
_FAILS: Final = ("connection.reconnects-after-supplier-failure", "robustness.calls-do-not-hang")
_SLOW_MS: Final = 600


def _case(
    plan: Schedule, words: str, title: str, requirements: tuple[str, ...], credentials: str, **fields: Any
) -> Case:
    """Return the Case of a plan in which each of these tokens is valid."""
    tokens = ("",) if credentials == "certificate" else ("first", "second", "third")
    return plan.case(
        f"connection/{words}",
        title,
        requirements,
        capabilities=("producer", "resend_pending", "auth_refresh"),
        client={"credentials": credentials, "operation_timeout_ms": _TIMEOUT_MS},
        topology=Topology(settings=BrokerSettings(tokens=tokens, auth_refresh_ms=2_000)),
        limits=_LIMITS,
        # A failing supplier may end the process.
        isolation=Isolation.OWN_PROCESS if "raise" in credentials else Isolation.SHARED_PROCESS,
        **fields,
    )


def _reconnecting(words: str, title: str, requirements: tuple[str, ...], credentials: str) -> Case:
    """Cut the connection of a producer, which goes on sending."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    cut = plan.last
    plan.wait_fired(0)
    plan.wait_ops(plan.send(producer))
    return _case(
        plan, words, title, requirements, credentials, faults=(Fault(trigger=AfterStep(step=cut), action=Cut()),)
    )


def _challenged(words: str, title: str, requirements: tuple[str, ...], credentials: str) -> Case:
    """Challenge the client of an idle producer for fresh credentials; the producer then goes on sending."""
    plan, producer = Schedule.with_producer()
    plan.wait_ops(plan.send(producer))
    plan.broker("challenge")
    plan.wait_frame("AUTH_CHALLENGE", Direction.TO_CLIENT)
    plan.wait_ms(_SLOW_MS // 3)
    plan.wait_ops(plan.send(producer))
    return _case(plan, words, title, requirements, credentials)


def _opening(words: str, title: str, requirements: tuple[str, ...], credentials: str) -> Case:
    """Open another producer once the client's first opening has ended, with or without success."""
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.producer(client, wait=False))
    producer = plan.producer(client, wait=False)
    plan.wait_ops(producer)
    plan.wait_ops(plan.send(producer))
    return _case(plan, words, title, requirements, credentials)


CASES = (
    _reconnecting(
        "supplier-changes-at-reconnect",
        "The credentials supplier gives another token for the second connection",
        ("connection.asks-supplier-each-time",),
        "token:first,token:second",
    ),
    _reconnecting(
        "supplier-fails-at-reconnect",
        "The credentials supplier fails twice when the client reconnects",
        _FAILS,
        "token:first,raise,raise,token:second",
    ),
    _reconnecting(
        "supplier-slow-at-reconnect",
        "The credentials supplier is slow when the client reconnects",
        ("robustness.calls-do-not-hang", "connection.asks-supplier-each-time"),
        f"token:first,wait:{_SLOW_MS}:second",
    ),
    _opening(
        "supplier-fails-at-first",
        "The credentials supplier fails once at the first connection",
        ("robustness.calls-do-not-hang", "connection.asks-supplier-each-time"),
        "raise,token:first",
    ),
    _opening(
        "supplier-slow-at-first",
        "The credentials supplier is slow at the first connection",
        ("robustness.calls-do-not-hang", "connection.asks-supplier-each-time"),
        f"wait:{_SLOW_MS}:first",
    ),
    _challenged(
        "supplier-fails-at-challenge",
        "The credentials supplier fails when the broker asks for fresh credentials",
        _FAILS,
        "token:first,raise,token:second",
    ),
    _challenged(
        "supplier-slow-at-challenge",
        "The credentials supplier is slow when the broker asks for fresh credentials",
        ("robustness.calls-do-not-hang", "connection.asks-supplier-each-time"),
        f"token:first,wait:{_SLOW_MS}:second",
    ),
    _challenged(
        "certificate-challenged",
        "The broker asks a client for fresh credentials, and the client's are empty",
        ("connection.answers-auth-challenge",),
        "certificate",
    ),
)
