"""The parameter template: the values its authors and we have evaluated, and which limit closes a batch."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance import catalogue
from assay_conformance.model.errors import UsageError
from assay_conformance.tuning import OPTIONS, Closing, Load, Room, advise, closing
from assay_conformance.tuning.bounds import BOUNDS, SETTINGS_MOST
from assay_conformance.tuning.closing import regimes
from assay_conformance.tuning.formulas import (
    BY_FORMULA,
    FORMULAS,
    Settings,
    batching_max_bytes,
    memory_limit_bytes,
    settings_of,
)
from assay_conformance.tuning.options import Language

KIB = 1_024


@pytest.mark.parametrize(
    ("memory_mb", "partitions", "expected"),
    [
        (64, 1_000, 33_554),
        (128, 1_000, 67_108),
        (256, 1_000, 134_217),
        (64, 100, 335_544),
        (128, 100, 671_088),
        (256, 100, 1_048_576),
        (64, 10, 1_048_576),
        (64, 1, 1_048_576),
    ],
)
def test_a_batch_may_hold_half_of_a_partitions_share_of_memory(memory_mb: int, partitions: int, expected: int) -> None:
    assert batching_max_bytes(Load(partitions=partitions, message_bytes=KIB, memory_mb=memory_mb)) == expected


@pytest.mark.parametrize(("partitions", "mib"), [(10, 9.8), (100, 97.7), (1_000, 976.6)])
def test_memory_is_what_full_queues_take(partitions: int, mib: float) -> None:
    limit = memory_limit_bytes(Load(partitions=partitions, message_bytes=KIB))
    assert round(limit / KIB / KIB, 1) == mib


def test_half_of_the_queue_is_built_while_the_other_half_waits() -> None:
    settings = settings_of(Load(partitions=4, message_bytes=100, max_pending=1_500))
    assert (settings.max_pending_messages, settings.batching_max_messages) == (1_500, 750)
    assert settings.max_pending_messages_across_partitions == 6_000


@pytest.mark.parametrize(("rate", "pending"), [(0, 1_000), (10_000, 1_000), (75_000, 1_500), (1_000_000, 2_000)])
def test_a_higher_rate_takes_a_longer_queue(rate: float, pending: int) -> None:
    assert settings_of(Load(partitions=1, message_bytes=100, rate_per_s=rate)).max_pending_messages == pending


@pytest.mark.parametrize(("rate", "delay_ms"), [(0, 10), (10, 100), (20_000, 25), (10_000_000, 1)])
def test_the_delay_is_what_a_batch_takes_to_fill(rate: float, delay_ms: int) -> None:
    load = Load(partitions=1, message_bytes=100, rate_per_s=rate, max_pending=1_000)
    assert settings_of(load).batching_max_publish_delay_ms == delay_ms


def test_keys_spread_a_rate_over_all_partitions() -> None:
    assert Load(partitions=10, message_bytes=1, rate_per_s=1_000, keyed=True).partition_rate_per_s == 100
    assert Load(partitions=10, message_bytes=1, rate_per_s=1_000).partition_rate_per_s == 1_000


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (Room(500, 1_000_000, 10), (Closing.COUNT, 500)),
        (Room(500, 10_000, 10), (Closing.BYTES, 100)),
        (Room(500, 1_000_000, 10, rate_per_s=2_000), (Closing.DELAY, 20)),
        (Room(1_000, 1_000_000, 10, free_permits=500), (Closing.PERMITS, 500)),
        (Room(1_000, 1_000_000, 10, free_bytes=4_099), (Closing.MEMORY, 40)),
        (Room(500, 50_000, 10), (Closing.COUNT, 500)),
        (Room(500, 50, 10), (Closing.BYTES, 1)),
    ],
)
def test_the_least_limit_closes_a_batch(room: Room, expected: tuple[Closing, float]) -> None:
    assert closing(room, message_bytes=100) == expected


@pytest.mark.parametrize(("message_bytes", "expected"), [(KIB, Closing.COUNT), (100_000, Closing.BYTES)])
def test_small_messages_close_by_count_and_large_ones_by_bytes(message_bytes: int, expected: Closing) -> None:
    load = Load(partitions=10, message_bytes=message_bytes, memory_mb=256)
    assert {regime.closes_by for regime in regimes(load, settings_of(load))} == {expected}


def test_a_trickle_closes_by_delay() -> None:
    load = Load(partitions=1, message_bytes=100, rate_per_s=50)
    assert regimes(load, settings_of(load))[-1].closes_by is Closing.DELAY


def test_the_limit_of_a_partition_is_the_smaller_of_two() -> None:
    settings = settings_of(Load(partitions=10, message_bytes=1, max_pending=1_000, max_pending_across=5_000))
    assert settings.pending_of_each(10) == 500


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (
            Load(partitions=1_000, message_bytes=KIB, memory_mb=64, max_pending=1_000),
            "memory binds before the queues of 1000 do, at 65 messages a partition",
        ),
        (
            Load(partitions=1_000_000, message_bytes=KIB, memory_mb=64),
            "with room for 65536 messages in all, fewer than one for each of 1000000 partitions",
        ),
        (
            Load(partitions=10, message_bytes=KIB, max_pending=2**31 - 1),
            "max_pending_messages_across_partitions = 21474836470, expected at most 2147483647 (an int in Java",
        ),
        (
            Load(partitions=2**31 - 1, message_bytes=2**31 - 1),
            "memory_limit_bytes = 4611686014132420609000, expected at most 9223372036854775807 (a long in Java)",
        ),
        (Load(partitions=1_000, message_bytes=1, max_pending_across=999), "divided by 1000 partitions is 0"),
        (Load(partitions=1, message_bytes=1, max_pending=1), "half of what a partition may have pending, 1, and C++"),
        (Load(partitions=1, message_bytes=6_000_000), "full queues take 5722.0 MiB in each client"),
        (Load(partitions=1, message_bytes=600_000), "holds no two messages of 600000"),
        (Load(partitions=1, message_bytes=5 * KIB * KIB + 1), "more than a broker takes by default"),
        (Load(partitions=1, message_bytes=1, delay_ms=500), "a publish delay of 500 ms is outside"),
        (Load(partitions=1, message_bytes=1, rate_per_s=1_000_000), "the producer cannot keep this rate"),
    ],
)
def test_what_is_wrong_is_warned_of(load: Load, words: str) -> None:
    assert any(words in warning for warning in advise(load).warnings)


def test_an_ordinary_load_is_warned_of_nothing_but_missing_options() -> None:
    (only,) = advise(Load(partitions=10, message_bytes=KIB, memory_mb=64, rate_per_s=1_000)).warnings
    assert only.startswith("not every client has every setting: Python lacks memory_limit_bytes")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("partitions", 0, "a whole number from 1 to 2147483647"),
        ("partitions", 10**26, "a whole number from 1 to 2147483647"),
        ("message_bytes", -1, "a whole number from 1 to 2147483647"),
        ("max_pending", 9_999_999_999, "a whole number from 1 to 2147483647"),
        ("rate_per_s", math.nan, "a number from 0.001 to 1000000000"),
        ("rate_per_s", math.inf, "a number from 0.001 to 1000000000"),
        ("rate_per_s", 1e-310, "a number from 0.001 to 1000000000"),
        ("delay_ms", -5, "a whole number from 1 to 3600000"),
        ("memory_mb", 2**43, "a whole number from 1 to 8796093022207"),
    ],
)
def test_a_load_that_makes_no_sense_is_refused(field: str, value: float, expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        Load(**{"partitions": 1, "message_bytes": 1, field: value})  # type: ignore[arg-type]
    assert str(refused.value) == f"{field} is {value}, expected {expected}"


@given(
    st.fixed_dictionaries(
        {name: st.integers(int(bound.least) or 1, int(bound.most)) for name, bound in BOUNDS.items()}
        | {name: st.floats(BOUNDS[name].least, BOUNDS[name].most) for name in ("rate_per_s", "round_trip_ms")}
        | {"keyed": st.booleans()},
    ),
    st.sets(st.sampled_from(sorted(BY_FORMULA))),
)
def test_every_load_within_bounds_has_advice(fields: dict[str, Any], left_out: set[str]) -> None:
    load = Load(**{name: value for name, value in fields.items() if name not in left_out})
    advice = advise(load)
    values = [one.value for one in advice.settings if one.value is not None and one.setting != "batching"]
    assert min(values) >= 1
    assert all(regime.messages >= 1 for regime in advice.closing)


LOADS = (
    Load(partitions=1_000, message_bytes=KIB, memory_mb=256),
    Load(partitions=10, message_bytes=KIB, max_pending_across=3_000),
    Load(partitions=10, message_bytes=KIB, max_pending_across=5_000, memory_mb=1),
    Load(partitions=1, message_bytes=100_000, memory_mb=64, rate_per_s=100),
    Load(partitions=4, message_bytes=100, max_pending=1_500),
)


@pytest.mark.parametrize("load", LOADS, ids=repr)
def test_a_recommended_queue_is_the_one_in_force(load: Load) -> None:
    assert settings_of(load).max_pending_messages == advise(load).pending_of_each_partition


@pytest.mark.parametrize("load", LOADS, ids=repr)
def test_a_recommended_batch_fits_twice_into_the_queue(load: Load) -> None:
    assert 2 * settings_of(load).batching_max_messages <= advise(load).pending_of_each_partition


@pytest.mark.parametrize(
    ("load", "pending", "words"),
    [
        (Load(partitions=1, message_bytes=1), 1_000, "max_pending_messages comes first"),
        (Load(partitions=1_000, message_bytes=KIB, memory_mb=256), 262, "memory_limit_bytes, 256.0 MiB, holds no more"),
        (
            Load(partitions=1_000, message_bytes=KIB, memory_mb=64, max_pending=1_000),
            65,
            "memory_limit_bytes, 64.0 MiB, holds no more",
        ),
        (
            Load(partitions=10, message_bytes=KIB, max_pending_across=3_000),
            300,
            "max_pending_messages_across_partitions, divided by the partitions",
        ),
    ],
)
def test_the_limit_that_comes_first_is_named(load: Load, pending: int, words: str) -> None:
    advice = advise(load)
    assert advice.pending_of_each_partition == pending
    assert advice.pending_because.startswith(words)


@pytest.mark.parametrize(
    "load",
    [
        Load(partitions=1, message_bytes=100, max_pending=1),
        Load(partitions=1, message_bytes=100, max_pending=3),
        Load(partitions=1, message_bytes=6_000_000),
        Load(partitions=2_000_000, message_bytes=KIB, memory_mb=1),
    ],
    ids=repr,
)
def test_batching_is_off_where_no_batch_holds_two_messages(load: Load) -> None:
    advice = advise(load)
    values = {one.setting: one.value for one in advice.settings}
    assert (values["batching"], values["batching_max_messages"], advice.closing) == (0, None, ())


def test_what_was_given_needs_no_formula() -> None:
    reasons = {one.setting: one.formula for one in advise(Load(partitions=1, message_bytes=1, delay_ms=7)).settings}
    assert reasons["batching_max_publish_delay_ms"] == "as given"


def test_the_share_of_a_queue_across_partitions_is_all_that_memory_has_to_hold() -> None:
    load = Load(partitions=10, message_bytes=KIB, memory_mb=5, max_pending_across=3_000)
    assert not any("memory limit" in warning for warning in advise(load).warnings)


def test_every_setting_has_a_formula_and_its_names() -> None:
    assert {formula.setting for formula in FORMULAS} == set(Settings.__struct_fields__) == set(OPTIONS)
    assert set(SETTINGS_MOST) < set(OPTIONS)
    assert set(BOUNDS) | {"keyed"} == set(Load.__struct_fields__)
    assert all(set(names) == set(Language) for names in OPTIONS.values())


def test_the_requirement_that_a_partitions_limit_names_is_one() -> None:
    named = re.findall(r"requirement ([a-z.-]+)", Settings.pending_of_each.__doc__ or "")
    assert named == ["flow.max-pending-across-partitions"]
    assert named[0] in catalogue.load().requirements
