"""Permutations: what a Case leaves open, the Case under other circumstances, and the few that cover every pair."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule, up
from assay_conformance.cases.permutations import AXES, Value, open_to, pairs_of, permutations, permuted, rows, spread
from assay_conformance.cases.permutations.concerned import CONCERNED
from assay_conformance.catalogue import load
from assay_conformance.model.case import Case, Tier, Topic, Topology, base_of, check_case_id, words_of
from assay_conformance.model.fault import Cut, Fault
from assay_conformance.pulsar.cases import all_cases
from assay_fixtures.agents.keys import SUITE_KEYS, WORDS

LEAST_AVAILABLE = 2_000
FAST = [case for case in all_cases() if case.tier is Tier.FAST]


def sends(size: int = 64, **fields: Any) -> Case:
    plan = Schedule()
    plan.send(plan.producer(plan.client()), 3, size=size)
    return plan.case("resend/three-sends", "Three sends", ("resend.pending-sends-resent",), **fields)


def sends_by_key() -> Case:
    plan = Schedule()
    plan.agent("send", {"producer": plan.producer(plan.client()), "messages": [{"key": "a"}, {}]})
    return plan.case("resend/by-key", "A send with a key, and one without", ("resend.pending-sends-resent",))


def words(case: Case) -> set[str]:
    return {value.word for _, values in open_to(case) for value in values}


# --- what a Case leaves open ---


def test_case_without_consumer_has_no_subscription_type() -> None:
    assert words(sends()) & {"shared", "prefetches-3", "ungrouped"} == set()


def test_case_leaves_open_what_it_does_not_set() -> None:
    assert {"lz4", "batched", "deduplicated", "named", "20-kib", "short-ledgers"} <= words(sends())


@pytest.mark.parametrize(
    ("case", "word"),
    [
        (sends(producer={"compression": "NONE"}), "lz4"),
        (sends(producer={"batching": True}), "may-be-cut"),
        (sends(topology=Topology(topics=(Topic(name="t", deduplication=True),))), "deduplicated"),
        (sends(topology=Topology(protocol_version=19)), "protocol-13"),
        (sends(size=1), "20-kib"),
        (sends_by_key(), "ordered-by-key"),
        (sends(faults=(Fault(trigger=up("SEND", k=2), action=Cut()),)), "batched"),
        (msgspec.structs.replace(sends(), requirements=("resend.send-timeout",)), "blocks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_case_that_is_about_a_circumstance_leaves_it_alone(case: Case, word: str) -> None:
    assert word in words(sends())
    assert word not in words(case)


def test_what_cases_are_concerned_by_exists() -> None:
    circumstances = {word for axis in AXES for word in (axis.name, *(value.word for value in axis.values))}
    assert set(CONCERNED) <= circumstances
    known = {case.id for case in all_cases()} | set(load().requirements) | set(load().chapters)
    assert {who for table in CONCERNED.values() for who in table} <= known


# --- a Case under other circumstances ---


def test_permutation_says_what_is_not_as_in_the_case() -> None:
    one = permuted(sends(), ("lz4", "whole", "deduplicated"))
    assert (one.id, one.title) == ("resend/three-sends@lz4+deduplicated", "Three sends (lz4, deduplicated)")
    assert base_of(one.id) == "resend/three-sends"
    assert words_of(one.id) == {"lz4", "deduplicated"}


def test_permutation_differs_in_nothing_else() -> None:
    one = permuted(sends(), ("lz4", "deduplicated", "20-kib"))
    assert one.config.producer == {"compression": "LZ4"}
    assert one.topology.topics == (Topic(name="t", deduplication=True),)
    assert [step.args["size"] for step in one.steps if step.verb == "send"] == [20 * 1024]
    assert one.capabilities == ("compression", "dedup_resume")
    assert (one.faults, one.limits, one.requirements) == (sends().faults, sends().limits, sends().requirements)


@pytest.mark.parametrize("value", [value for axis in AXES for value in axis.values], ids=lambda value: value.word)
def test_value_sets_keys_of_the_suite_and_asks_for_known_capabilities(value: Value) -> None:
    assert set(value.capabilities) <= set(load().capabilities)
    assert value.configured <= frozenset().union(*SUITE_KEYS.values())
    assert all(word in WORDS[key] for key, word in (value.producer | value.consumer).items() if key in WORDS)
    check_case_id(f"chapter/case@{value.word}", "here")


# --- how many, and which are run ---


@cache
def _spread() -> tuple[Case, ...]:
    return spread(FAST)


def test_thousands_are_available_in_the_fast_tier() -> None:
    assert sum(len(rows(case)) - 1 for case in FAST) >= LEAST_AVAILABLE


def test_ids_are_unique_and_may_name_files() -> None:
    ids = [one.id for case in FAST for one in permutations(case)]
    assert len(set(ids)) == len(ids)
    assert max(map(len, ids)) < 200


def _pairs(case: Case) -> set[frozenset[str]]:
    """Pairs of circumstances of a permutation, its chapter among them."""
    plain = [(axis.plain, {value.word for value in values}) for axis, values in open_to(base(case)) if values]
    row = [next(iter(words & words_of(case.id)), own) for own, words in plain]
    return set(pairs_of((f"chapter {case.id.partition('/')[0]}", *row)))


def base(case: Case) -> Case:
    return next(one for one in FAST if one.id == base_of(case.id))


def test_what_is_run_contains_every_pair_that_is_available() -> None:
    run = {pair for case in (*FAST, *_spread()) for pair in _pairs(case)}
    available = {
        pair for case in FAST for row in rows(case) for pair in pairs_of((f"chapter {case.id.partition('/')[0]}", *row))
    }
    assert available - run == set()


def test_no_permutation_is_run_for_nothing() -> None:
    assert len(_spread()) <= LEAST_AVAILABLE / 10


def test_pairs_that_cannot_be_asked_for_are_left_out() -> None:
    run = spread(FAST, lambda _case, value: "compression" not in value.capabilities)
    assert not any("compression" in case.capabilities and "@lz4" in case.id for case in run)
    assert {word for case in run for word in words_of(case.id)} & {"lz4", "zlib", "zstd", "snappy"} == set()
