"""Whether a Case that comes from a file can be run: its verbs, their arguments, and how much it asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from assay_conformance.broker.steps import read_step
from assay_conformance.cases.arguments import EITHER, HANDLE, MESSAGE, MS, OPENING, RANGES, VERBS, Kind, kind_of, whole
from assay_conformance.model.case import Case, Step, Topology, Who, check_case_id
from assay_conformance.model.doors import shown
from assay_conformance.model.errors import UsageError
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Fault
from assay_conformance.model.topic_names import base_topic, named_topics
from assay_conformance.model.unknown_keys import nearest

MOST_STEPS: Final = 10_000
MOST_TOPICS: Final = 100
MOST_PARTITIONS: Final = 1_000
"""Of all topics together."""
MOST_BYTES_OF_A_CASE: Final = 1024**3

_FREE: Final = frozenset({"fields", "where", "metadata", "properties"})
"""Here names are those of frames, whatever they mean elsewhere."""
_SIXTY_FOUR_BITS: Final = Kind("a number of 64 bits", lambda value: -(2**63) <= value < 2**64)


def check_case(case: Case, where: str) -> None:
    """Raise UsageError, which names `where`, the step and the key, for what no Case may contain.

    That is a verb that does not exist, an argument that is missing or of another kind, more brokers, topics or bytes
    than a machine has room for. What a step refers to need not exist: taking steps away keeps a Case valid.
    """
    try:
        _check_case(case, where)
    except RecursionError as error:
        raise UsageError(f"{where}: expected a Case, came lists in lists without end") from error


def _check_case(case: Case, where: str) -> None:
    check_case_id(case.id, where)
    if len(case.steps) > MOST_STEPS:
        raise UsageError(f"{where}: 'steps': expected at most {MOST_STEPS} of them, came {len(case.steps)}")
    check_topology(case.topology, where)
    check_faults(case.faults, where)
    _check_numbers(msgspec.to_builtins(case.limits), f"{where}: limits")
    for role in ("client", "producer", "consumer"):
        _check_config(getattr(case.config, role), f"{where}: config, {role}")
    topics = frozenset(topic.name for topic in case.topology.topics)
    for number, step in enumerate(case.steps):
        _check_step(step, topics, f"{where}: step {number}")
        if step.who is Who.BROKER and step.args.get("broker") is not None:
            _check("broker", step.args["broker"], whole(0, case.topology.brokers - 1), f"{where}: step {number}")
    asked = sum(map(_bytes, case.steps))
    if asked > MOST_BYTES_OF_A_CASE:
        raise UsageError(f"{where}: its messages: expected at most {MOST_BYTES_OF_A_CASE} bytes, came {asked}")


def check_topology(topology: Topology, where: str) -> None:
    """Raise UsageError for brokers, topics and settings that no machine can bring up."""
    if len(topology.topics) > MOST_TOPICS:
        raise UsageError(f"{where}: topology: expected at most {MOST_TOPICS} topics, came {len(topology.topics)}")
    _check_numbers(msgspec.to_builtins(topology), f"{where}: topology")
    parts = sum(topic.partitions for topic in topology.topics)
    if parts > MOST_PARTITIONS:
        raise UsageError(f"{where}: topology: expected at most {MOST_PARTITIONS} partitions, came {parts}")


def check_faults(faults: tuple[Fault, ...], where: str) -> None:
    """Raise UsageError for numbers of faults that mean nothing, or too much."""
    for number, fault in enumerate(faults):
        _check_numbers(msgspec.to_builtins(fault), f"{where}: fault {number}")


def check_facts(facts: ClientFacts, where: str) -> None:
    """Raise UsageError for a constant or a default of a client that its configuration key cannot have."""
    _check_config(facts.fixed, f"{where}, fixed")
    _check_config(facts.defaults, f"{where}, defaults")


def _check_step(step: Step, topics: frozenset[str], where: str) -> None:
    for key, value, kind in (("saves", step.saves, HANDLE), ("at_ms", step.at_ms, MS)):
        if value is not None:
            _check(key, value, kind, where)
    if step.verb in OPENING and step.saves is None:
        raise UsageError(f"{where}, {step.verb}: 'saves' is missing, expected the number of the handle it opens")
    if step.who is Who.BROKER:
        try:
            read_step(step.verb, step.args)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
        _check_numbers(step.args, where)
    else:
        _check_arguments(step, where)
    _check_topics(step, topics, where)


def _check_arguments(step: Step, where: str) -> None:
    verb = VERBS.get((step.who, step.verb))
    if verb is None:
        known = ", ".join(word for who, word in VERBS if who is step.who)
        raise UsageError(f"{where}: verb of {step.who.value}: expected one of {known}, came {shown(step.verb)}")
    where = f"{where}, {step.verb}"
    for key, kind in verb.required.items():
        if key not in step.args:
            raise UsageError(f"{where}: {key!r} is missing, expected {kind.words}")
        _check(key, step.args[key], kind, where)
    for key, kind in verb.optional.items():
        if key in step.args:
            _check(key, step.args[key], kind, where)
    _refuse_unread(step.args, {*verb.required, *verb.optional}, where)
    for message in step.args.get("messages", ()) if step.verb == "send" else ():
        _refuse_unread(message, MESSAGE, f"{where}, messages")
    either = EITHER.get(step.verb, ())
    if either and not any(key in step.args for key in either):
        raise UsageError(f"{where}: expected one of {', '.join(either)}, came neither")


def _refuse_unread(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raise UsageError for an unknown key: a size under a wrong name would pass for the one that is meant."""
    for key in given:
        if key not in known:
            near = nearest(key, known)
            raise UsageError(
                f"{where}: {shown(key)} means nothing there{near}; expected some of {', '.join(sorted(known))}"
            )


def _check_config(config: Mapping[str, Any], where: str) -> None:
    for key, value in config.items():
        _check(key, value, kind_of(key), where)


def _check_topics(step: Step, topics: frozenset[str], where: str) -> None:
    """Check that the topics of a step are the topology's; a broker's step may name one of their partitions."""
    if step.who is Who.BROKER:
        named = [step.args["topic"]] if step.args.get("topic") is not None else []
    elif step.verb in OPENING and step.verb != "open_client":
        named = list(named_topics(step.args, min(topics, default="")))
    else:
        return
    for name in named:
        known = base_topic(name) if step.who is Who.BROKER else name
        if known not in topics and name not in topics:
            raise UsageError(f"{where}: topic: expected one of {', '.join(sorted(topics))}, came {shown(name)}")


def _check(key: str, value: Any, kind: Kind, where: str) -> None:
    if not kind.fits(value):
        raise UsageError(f"{where}: {shown(key)}: expected {kind.words}, came {shown(value)}")


def _check_numbers(value: Any, where: str) -> None:
    for key, number, is_free in _numbers(value, "", is_free=False):
        by_name = RANGES.get(key, MS if key.endswith("_ms") else _SIXTY_FOUR_BITS)
        _check(key, number, _SIXTY_FOUR_BITS if is_free else by_name, where)


def _numbers(value: Any, key: str, *, is_free: bool) -> Iterator[tuple[str, int, bool]]:
    """Yield the whole numbers in a value: the name of each, itself, and whether its name says what it is."""
    if type(value) is int:
        yield key, value, is_free
    elif isinstance(value, dict):
        for inner_key, inner in value.items():
            yield from _numbers(inner, str(inner_key), is_free=is_free or key in _FREE)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, key, is_free=is_free)


def _bytes(step: Step) -> int:
    """Return how much a step sends, or has a broker store."""
    if step.verb == "store_entries":
        entries = step.args["entries"]
        return sum((entry.get("payload") or {}).get("size", 0) * entry.get("copies", 1) for entry in entries)
    if step.verb not in ("send", "burst"):
        return 0
    size = int(step.args.get("size", 0))
    if "messages" in step.args and step.verb == "send":
        return sum(int(message.get("size", size)) for message in step.args["messages"])
    return size * int(step.args.get("count", 1))
