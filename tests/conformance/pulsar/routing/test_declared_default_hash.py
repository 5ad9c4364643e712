"""The check of `routing.declared-default-hash`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._routing import FIVE, OTHER, Story

from assay_conformance.checks.trial import ANY_CLIENT, trial
from assay_conformance.history.script import PRODUCER
from assay_conformance.pulsar.checks.routing.declared_default_hash import declared_default_hash


def _declared(scheme: str, *partitions: int) -> tuple[list[str], int]:
    """Key `a` of a producer, and of a second one, of a client that declares a scheme."""
    story = Story()
    story.second()
    for number, partition in enumerate(partitions):
        story.goes(number, partition, "a", handle=OTHER if number else PRODUCER)
    facts = msgspec.structs.replace(ANY_CLIENT, defaults={"hashing_scheme": scheme})
    said = trial(declared_default_hash, story.done(), FIVE, facts)
    return [finding.code for finding in said.findings], said.exercised


def test_default_is_the_scheme_that_is_declared() -> None:
    assert (_declared("java_string", 2), _declared("murmur3_32", 0)) == (([], 1), ([], 1))


def test_default_that_is_declared_otherwise_is_found() -> None:
    assert _declared("murmur3_32", 2) == (["not-as-declared"], 1)


def test_default_of_a_scheme_that_differs_by_build_is_the_same_for_two_producers() -> None:
    assert (_declared("boost", 3, 3), _declared("boost", 3, 4)) == (([], 1), (["defaults-differ"], 1))
