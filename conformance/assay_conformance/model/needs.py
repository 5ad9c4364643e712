"""What a Case needs of its broker, read off the Case itself: so it needs no declaration that could be forgotten.

A need is a word: a broker verb (`step:hold_store`), a setting of broker.conf that it changes
(`setting:expiry_check_ms`), a constant of the protocol (`announces:keep_alive_ms`), several brokers, a process of a
role (`process:bookie`), one with a network (`network:broker`) or a disk of its own (`disk:bookie`), a rate where not
every broker keeps one, leave to harm more than its own world (`harm:broker`), or what `Case.needs` adds.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from assay_conformance.model.case import Case, Destructive, Topic, Topology, Who
from assay_conformance.model.outside import Disconnect, Means, OnDisk, Role, Target, means_of
from assay_conformance.model.policy import Rate

Need = str

SEVERAL_BROKERS: Need = "several-brokers"
HOLD_STORE: Need = "step:hold_store"
CLIENT: Need = f"process:{Role.CLIENT.value}"
RESTART: Need = "step:restart"
STORE_BESIDE: Need = "step:store_entries beside an exclusive producer"
TRANSIENT_RATE: Need = "rate:dispatch from a non-persistent topic"
PROXIED: Need = "setting:proxied"
_BEHIND_PROXY = frozenset({PROXIED, f"process:{Role.PROXY.value}"})
_ANNOUNCED = ("max_message_bytes", "keep_alive_ms", "protocol_version")


def needs(case: Case) -> frozenset[Need]:
    return frozenset(_needs(case))


def means(case: Case) -> frozenset[Means]:
    """Return the means that the Case's faults use."""
    return frozenset(means_of(fault.action) for fault in case.faults)


def behind_proxy(case: Case) -> bool:
    """Return whether its clients reach their brokers through a Pulsar proxy: it says so, or harms the proxy."""
    return not _BEHIND_PROXY.isdisjoint(_needs(case))


def _needs(case: Case) -> Iterator[Need]:
    yield from case.needs
    yield from (f"step:{step.verb}" for step in case.steps if step.who is Who.BROKER)
    yield from (f"setting:{name}" for name in changed(case.topology.settings))
    yield from (f"announces:{name}" for name in changed(case.topology) if name in _ANNOUNCED)
    if case.topology.brokers > 1:
        yield SEVERAL_BROKERS
    if _stores_beside_an_exclusive_producer(case):
        yield STORE_BESIDE
    if any(not topic.persistent and _dispatches_at_a_rate(topic) for topic in case.topology.topics):
        yield TRANSIENT_RATE
    if case.destructive in (Destructive.BROKER, Destructive.DATA):
        yield f"harm:{case.destructive.value}"
    for fault in case.faults:
        target = getattr(fault.action, "target", None)
        if isinstance(target, Target):
            yield f"process:{target.role.value}"
        if isinstance(fault.action, Disconnect):
            yield f"network:{fault.action.target.role.value}"
        if isinstance(fault.action, OnDisk):
            yield f"disk:{fault.action.target.role.value}"


def _dispatches_at_a_rate(topic: Topic) -> bool:
    return (topic.dispatch_rate, topic.subscription_rate) != (Rate(), Rate())


def _stores_beside_an_exclusive_producer(case: Case) -> bool:
    """Return whether anything is to be stored on a topic that a producer may have for itself by then."""
    alone = False
    for step in case.steps:
        if step.verb == "open_producer":
            own = {**case.config.producer, **step.args.get("config", {})}
            alone = alone or own.get("access_mode", "shared") != "shared"
        elif alone and step.who is Who.BROKER and step.verb == "store_entries":
            return True
    return False


def changed(value: msgspec.Struct, plain: msgspec.Struct | None = None) -> tuple[str, ...]:
    """Return the fields that differ from their default, or from those of `plain`."""
    plain = plain or type(value)()
    return tuple(name for name in value.__struct_fields__ if getattr(value, name) != getattr(plain, name))


assert set(_ANNOUNCED) <= set(Topology.__struct_fields__)
