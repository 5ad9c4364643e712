"""The registry: requirement id -> the check that judges it, collected from the chapters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from assay_conformance.checks import (
    access,
    ack,
    ack_timeout,
    assigned,
    batching,
    chunking,
    compression,
    connection,
    consumer_leaving,
    credentials,
    dedup,
    dedup_broker,
    delayed,
    deleting,
    delivery,
    delivery_order,
    doubted_sizes,
    due_times,
    epochs,
    fairness,
    final_refusals,
    flow,
    growing,
    grown,
    hashing,
    hooks,
    identities,
    key_order,
    letters,
    liveness,
    lookups,
    malformed,
    migrating,
    moving,
    nack,
    name_holders,
    negotiated,
    old_ids,
    opening,
    ordering,
    own_topic,
    partitions,
    positions,
    producing,
    proxied,
    readers,
    requests,
    resuming_readers,
    robustness,
    roundtrip,
    routing,
    seek,
    sequence_ids,
    starts,
    steering,
    strays,
    subscription,
    throttling,
    topic_patterns,
    transient,
    turns,
    unreadable,
    windows,
)
from assay_conformance.checks.base import Check
from assay_conformance.pulsar.checks import resend as pulsar_resend

__all__ = ["CHECKS"]

_CHAPTERS = (
    ordering,
    sequence_ids,
    key_order,
    epochs,
    positions,
    pulsar_resend,
    producing,
    identities,
    access,
    turns,
    final_refusals,
    name_holders,
    dedup,
    dedup_broker,
    old_ids,
    delivery,
    delivery_order,
    chunking,
    ack,
    nack,
    ack_timeout,
    subscription,
    topic_patterns,
    fairness,
    own_topic,
    consumer_leaving,
    readers,
    resuming_readers,
    deleting,
    letters,
    delayed,
    due_times,
    throttling,
    batching,
    routing,
    hashing,
    starts,
    steering,
    windows,
    hooks,
    partitions,
    compression,
    doubted_sizes,
    flow,
    seek,
    connection,
    credentials,
    proxied,
    negotiated,
    requests,
    lookups,
    opening,
    moving,
    assigned,
    migrating,
    growing,
    grown,
    transient,
    robustness,
    strays,
    unreadable,
    malformed,
    roundtrip,
    liveness,
)


def _is_of(value: type, chapter: ModuleType) -> bool:
    return value.__module__ == chapter.__name__ or value.__module__.startswith(f"{chapter.__name__}.")


def _values_of(chapter: ModuleType) -> Iterable[object]:
    """What a chapter names; of one with a file for each requirement, what all of these name."""
    if chapter.__name__.startswith("assay_conformance.pulsar.checks."):
        files = (file.name for file in iter_modules(chapter.__path__) if not file.name.startswith("_"))
        modules = (import_module(f"{chapter.__name__}.{file}") for file in files)
        return (value for module in modules for value in vars(module).values())
    return vars(chapter).values()


def _checks_of(chapter: ModuleType) -> Iterator[type[Check]]:
    """The check classes of a chapter: those with a requirement of their own."""
    for value in _values_of(chapter):
        is_check = isinstance(value, type) and issubclass(value, Check)
        if is_check and _is_of(value, chapter) and "requirement" in vars(value):  # type: ignore[arg-type]
            yield value  # type: ignore[misc]


CHECKS: Mapping[str, type[Check]] = {check.requirement: check for chapter in _CHAPTERS for check in _checks_of(chapter)}
