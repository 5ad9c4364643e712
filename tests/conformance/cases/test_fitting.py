"""Cases fitted to clients that take longer times only."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule, down
from assay_conformance.cases.fitting import MOST_TIMES, drawable, fitted, raised, unstated
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Fault, Hold, Until


def facts(*capabilities: str, **fixed: Any) -> ClientFacts:
    return ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset(capabilities), fixed=fixed)


def short(**consumer: Any) -> Case:
    plan = Schedule()
    opened = plan.consumer(plan.client())
    plan.wait_ms(300)
    plan.wait_ops(plan.receive(opened, 1, timeout_ms=200))
    return plan.case(
        "x/y",
        "A Case",
        (),
        capabilities=("consumer", "short_ack_timeout"),
        consumer={"ack_timeout_ms": 400, "ack_timeout_tick_ms": 50, "ack_group_max": 10, **consumer},
        faults=(Fault(trigger=down("SUCCESS"), action=Hold(), until=Until(after_ms=100)),),
        limits=Limits(least_wall_ms=400),
    )


def test_all_times_of_a_case_grow_alike_until_the_client_takes_the_shortest() -> None:
    case = fitted(short(), facts("consumer", ack_timeout_min_ms=1_000))
    assert case.config.consumer == {"ack_timeout_ms": 1_000, "ack_timeout_tick_ms": 125, "ack_group_max": 10}
    assert [step.args.get("ms") for step in case.steps if step.verb == "ms"] == [750]
    assert [step.args["timeout_ms"] for step in case.steps if step.verb == "receive"] == [500]
    assert case.faults[0].until == Until(after_ms=250)
    assert (case.limits.least_wall_ms, case.limits.operation_ms) == (1_000, 25_000)


def test_what_the_case_needed_of_a_client_that_takes_short_times_is_needed_no_more() -> None:
    assert fitted(short(), facts("consumer", ack_timeout_min_ms=1_000)).capabilities == ("consumer",)


def test_fitted_case_says_so_in_its_title() -> None:
    assert "2.5 times as long" in fitted(short(), facts("consumer", ack_timeout_min_ms=1_000)).title


def one_option() -> ClientFacts:
    """Of a client whose operation time-out is that of its sends as well."""
    known = facts("producer")
    return msgspec.structs.replace(known, same_as={"send_timeout_ms": "operation_timeout_ms"})


def sending(**client: Any) -> Case:
    plan, producer = Schedule.with_producer()
    plan.send(producer)
    return plan.case("x/y", "A Case", (), client=client, producer={"send_timeout_ms": 500, "batching": True})


def test_what_the_client_sets_for_its_producers_is_set_there() -> None:
    config = fitted(sending(), one_option()).config
    assert (config.client, config.producer) == ({"operation_timeout_ms": 500}, {"batching": True})


def test_case_that_sets_both_of_one_option_stays_as_it_is() -> None:
    case = sending(operation_timeout_ms=2_000)
    assert fitted(case, one_option()) == case


def test_client_whose_shortest_time_is_shorter_gets_the_case_as_it_stands() -> None:
    case = fitted(short(), facts("consumer", ack_timeout_min_ms=100))
    assert (case.config, case.capabilities) == (short().config, ("consumer",))


@pytest.mark.parametrize(
    "known",
    [
        facts("consumer"),
        facts("consumer", "short_ack_timeout", ack_timeout_min_ms=1_000),
        facts("consumer", ack_timeout_min_ms=400 * MOST_TIMES + 400),
    ],
    ids=["nothing-stated", "takes-short-ones", "too-long-to-wait-for"],
)
def test_case_stays_as_it_is(known: ClientFacts) -> None:
    assert fitted(short(), known) == short()


@pytest.mark.parametrize(
    ("precision_ms", "delay_ms"), [(256, 1_024), (100, 400), (1, 300)], ids=["coarse", "finer", "fine"]
)
def test_delay_is_four_times_the_clocks_precision_where_the_case_asks_for_a_fine_one(
    precision_ms: int, delay_ms: int
) -> None:
    case = short(nack_delay_ms=300, nack_precision_ms=1)
    known = facts("consumer", "short_ack_timeout", nack_precision_ms=precision_ms)
    assert fitted(case, known).config.consumer["nack_delay_ms"] == delay_ms


def test_case_that_does_not_ask_for_a_fine_clock_stays_as_it_is() -> None:
    case = short(nack_delay_ms=300)
    assert fitted(case, facts("consumer", "short_ack_timeout", nack_precision_ms=256)) == case


def test_drawn_case_has_no_time_that_is_shorter_than_the_client_takes() -> None:
    case = raised(short(partitions_update_ms=200), facts(ack_timeout_min_ms=1_000, partitions_update_min_ms=500))
    times = {"ack_timeout_ms": 1_000, "partitions_update_ms": 500}
    assert case.config.consumer == {**short().config.consumer, **times}
    assert case.steps == short().steps


def test_what_is_off_in_a_drawn_case_stays_off() -> None:
    assert raised(short(ack_timeout_ms=0), facts(ack_timeout_min_ms=1_000)) == short(ack_timeout_ms=0)


def test_drawn_case_for_a_client_that_states_nothing_stays_as_it_is() -> None:
    case = short()
    assert raised(case, facts()) is case


@pytest.mark.parametrize(("least_ms", "drawn"), [(1_000, True), (10_000, False)])
def test_short_times_are_drawn_for_a_client_whose_shortest_is_not_much_longer(least_ms: int, drawn: bool) -> None:
    assert ("short_ack_timeout" in drawable(facts(ack_timeout_min_ms=least_ms))) is drawn


def about(*requirements: str) -> Case:
    return Schedule().case("x/y", "A Case", requirements)


def test_case_about_a_constant_cannot_be_asked_of_a_client_that_states_none() -> None:
    case = about("ack-timeout.minimum-enforced")
    assert unstated(case, facts()) == ("ack_timeout_min_ms",)
    assert unstated(case, facts(ack_timeout_min_ms=1_000)) == ()


def test_case_that_is_about_something_else_as_well_can_be_asked() -> None:
    assert unstated(about("ack-timeout.minimum-enforced", "nack.minimum-delay"), facts()) == ()


def test_case_about_nothing_in_particular_can_be_asked() -> None:
    assert unstated(about(), facts()) == ()
