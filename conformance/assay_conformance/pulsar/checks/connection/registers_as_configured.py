from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.timeline import (
    Exercised,
    Registration,
    Says,
    Timeline,
    breach,
    check,
    ms,
    named_registrations,
)

Fields = Mapping[str, Any]


class Stated(NamedTuple):
    """How a configuration key appears in a PRODUCER or SUBSCRIBE: `reads` returns what is stated, in the words of the
    key, given what was chosen."""

    key: str
    code: str
    reads: Callable[[Fields, ConfigValue], ConfigValue | None]


def _word(field: str, unstated: str | None = None) -> Callable[[Fields, ConfigValue], ConfigValue | None]:
    """Read an enum of the protocol as the key's word: ExclusiveWithFencing is `exclusive_with_fencing`."""

    def read(fields: Fields, _chosen: ConfigValue) -> ConfigValue | None:
        stated = fields.get(field, unstated)
        return None if stated is None else _snake(str(stated))

    return read


def _snake(name: str) -> str:
    return "".join(f"_{one}" if one.isupper() and i else one for i, one in enumerate(name)).lower().replace("__", "_")


def _same(field: str, unstated: ConfigValue | None = None) -> Callable[[Fields, ConfigValue], ConfigValue | None]:
    return lambda fields, _chosen: fields.get(field, unstated)


def _properties(fields: Fields, chosen: ConfigValue) -> str:
    """Return those of the chosen properties that are stated: a client may add its own."""
    stated = {(one.get("key", ""), one.get("value", "")) for one in fields.get("metadata", ())}
    pairs = (one.partition("=") for one in str(chosen).split(","))
    return ",".join(f"{name}={value}" for name, _, value in pairs if (name, value) in stated)


def _ranges(fields: Fields, _chosen: ConfigValue) -> str:
    policy = fields.get("keySharedMeta", {})
    if policy.get("keySharedMode", "AUTO_SPLIT") != "STICKY":
        return ""
    return ",".join(f"{one.get('start', 0)}-{one.get('end', 0)}" for one in policy.get("hashRanges", ()))


def _out_of_order(fields: Fields, _chosen: ConfigValue) -> bool:
    return bool(fields.get("keySharedMeta", {}).get("allowOutOfOrderDelivery", False))


_STATED: Final[Mapping[str, tuple[Stated, ...]]] = {
    "producer": (
        Stated("access_mode", "other-access-mode", _word("producer_access_mode", "Shared")),
        Stated("properties", "other-properties", _properties),
    ),
    "consumer": (
        Stated("subscription_type", "other-type", _word("subType")),
        Stated("consumer_name", "other-name", _same("consumer_name")),
        Stated("properties", "other-properties", _properties),
        Stated("read_compacted", "other-compaction", _same("read_compacted", False)),
        Stated("key_shared_ranges", "other-ranges", _ranges),
        Stated("key_shared_out_of_order", "other-order", _out_of_order),
    ),
}


def _configured(timeline: Timeline) -> Iterator[tuple[Registration, Invoke, Stated, ConfigValue]]:
    """Yield each registration with the call that opened it, and each key that is to be stated in it."""
    for one, opening in named_registrations(timeline):
        if not from_client(one.frame):
            continue
        for stated in _STATED[one.kind]:
            chosen = timeline.view.setting(one.kind, stated.key, opening.args.get("config"))
            if chosen is not None:
                yield one, opening, stated, chosen


@check("connection.registers-as-configured", of=_configured)
def registers_as_configured(_timeline: Timeline, subject: tuple[Registration, Invoke, Stated, ConfigValue]) -> Says:
    """connection.registers-as-configured: each PRODUCER and SUBSCRIBE states what the application configured, the first
    one and those after a lost connection alike."""
    one, opening, stated, chosen = subject
    came = stated.reads(one.frame.fields, chosen)
    if came == chosen:
        yield Exercised(one.frame)
        return
    yield breach(
        stated.code,
        f"{one.kind} {one.handle} was opened with {stated.key} {chosen}; expected that in its {one.frame.command} at "
        f"{ms(one.frame.t_ns)}; it states {'none' if came in (None, '') else came}",
        *(opening, one.frame),
    )
