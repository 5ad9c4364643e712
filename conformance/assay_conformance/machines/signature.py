"""What a Case is made of, in words that do not count: two failures of one cause reduce to Cases of one shape.

A reduced Case needs everything that is left in it. So a failing Case that lacks a word of a known shape fails for
another reason, however alike the findings are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from assay_conformance.model.case import Case, Step, Topology, Who
from assay_conformance.model.fault import AnswerError, Fault, Rewrite
from assay_conformance.model.needs import changed

Shape = frozenset[str]

PARTS: Final = ("client", "producer", "consumer")
"""Of a configuration."""

_PLAIN = frozenset({"open_client", "open_producer", "open_consumer"})
_TOLD_OF_STEPS = ("cumulative", "deliver_after_ms", "key", "mode")
_TOLD_BY_VALUE = (bool, str)
"""Settings of which every value is a word of its own; of numbers only that they are set."""

_FAMILY = {
    **dict.fromkeys(("cut", "truncate", "refuse"), "the way ends"),
    "drop": "something is lost",
    **dict.fromkeys(("hold", "delay", "reorder"), "something is late"),
    "duplicate": "something comes twice",
    **dict.fromkeys(("corrupt", "resegment", "rewrite", "inject"), "something is garbled"),
}
"""What a client suffers, by action: at which frame is another matter, and often the same bug. A refusal is named by its
error, since a client treats each in its own way, and a frame with a wrong statement by the field it is in."""

_PATIENCE = frozenset({"send_timeout_ms", "operation_timeout_ms"})
"""Settings that decide how long a Case takes, and are never taken from it."""


def shape(case: Case) -> Shape:
    """Return verbs, faults, and what topology and configuration change."""
    return frozenset(_words(case))


def _words(case: Case) -> Iterator[str]:
    yield from (word for step in case.steps for word in words_of_step(step))
    yield from (word for fault in case.faults for word in words_of_fault(fault))
    yield from _of_topology(case.topology)
    for part in PARTS:
        for key, value in getattr(case.config, part).items():
            yield from words_of_setting(part, key, value)


def words_of_setting(part: str, key: str, value: object) -> Iterator[str]:
    """Yield the words of a setting; none if it decides how long a Case takes, or is off."""
    if key not in _PATIENCE and value is not False and value != "NONE":
        yield f"{part} {key}={value}" if isinstance(value, _TOLD_BY_VALUE) else f"{part} {key}"


def words_of_step(step: Step) -> Iterator[str]:
    """Yield the words of a step; none of a wait, or of opening a client, producer or consumer."""
    if step.who is not Who.WAIT and step.verb not in _PLAIN:
        yield f"{step.who.value} {step.verb}"
        yield from (f"{step.verb} {name}" for name in _TOLD_OF_STEPS if step.args.get(name))
    for entry in step.args.get("entries", ()):
        yield from _of_entry(entry)


def _of_entry(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of a stored entry: whether in chunks, its codec, and what its metadata says wrongly."""
    if entry.get("chunk_id") is not None:
        yield "stored in chunks"
    said = {"compression": entry.get("compression"), **entry.get("metadata", {})}
    for key, value in said.items():
        if value is not None:
            yield f"stored {key}={value}" if isinstance(value, _TOLD_BY_VALUE) else f"stored {key}"


def words_of_fault(fault: Fault) -> Iterator[str]:
    """Yield the words for what a fault does to a client."""
    if isinstance(fault.action, AnswerError):
        yield f"refused: {fault.action.error}"
        return
    action = str(fault.action.__struct_config__.tag)
    yield _FAMILY.get(action, action)
    if isinstance(fault.action, Rewrite):
        yield from (f"rewritten {field}" for field in fault.action.fields)


def _of_topology(topology: Topology) -> Iterator[str]:
    yield from (f"topology {name}" for name in changed(topology) if name not in ("topics", "settings"))
    yield from (f"setting {name}" for name in changed(topology.settings))
    plain = Topology().topics[0]
    for topic in topology.topics:
        for name in topic.__struct_fields__:
            if name != "name" and (value := getattr(topic, name)) != getattr(plain, name):
                yield f"topic {name}" if value else f"topic without {name}"
