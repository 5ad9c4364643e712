"""Every area draws Cases, that its client can be asked, and the same ones wherever they are drawn."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from assay_conformance.machines import areas, drawing, plan, scenarios
from assay_conformance.machines.areas import Area
from assay_conformance.machines.drawn_faults import DrawnFault
from assay_conformance.machines.environment import Around
from assay_conformance.machines.foreign_entries import FINDS
from assay_conformance.machines.interpreter import case_of
from assay_conformance.machines.kinds import KINDS
from assay_conformance.machines.operations import ADMITTED_MS, EVERYTHING, MODES, WAITS, Act, Operation
from assay_conformance.machines.parameters import Parameters
from assay_conformance.machines.policies import RATES, SETTINGS, Rules
from assay_conformance.model.case import Case, Isolation, Step, Who
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, OnFrame, Refuse

COUNT, SEED = 30, 11


@cache
def _drawn(area: Area) -> list[Case]:
    return plan.draw(areas.lives(area), COUNT, SEED)


@pytest.mark.parametrize("area", Area)
def test_an_area_draws_different_cases(area: Area) -> None:
    assert len(_drawn(area)) >= COUNT / 2


@pytest.mark.parametrize("area", [area for area in Area if area is not Area.MIXED])
def test_an_area_is_not_the_mixed_one(area: Area) -> None:
    assert [case.steps for case in _drawn(area)] != [case.steps for case in _drawn(Area.MIXED)]


def test_the_area_of_deduplication_has_it_on() -> None:
    assert all(case.topology.topics[0].deduplication for case in _drawn(Area.DEDUP))


def test_the_area_of_chunking_chunks() -> None:
    assert all(case.config.producer["chunking"] for case in _drawn(Area.CHUNKING))


def test_whoever_takes_a_name_again_waits_for_no_store() -> None:
    acts = (Act(Operation.HOLD_STORE), Act(Operation.SEND), Act(Operation.REOPEN_PRODUCER))
    steps = [step.verb for step in case_of(acts, (), Parameters(), "test").steps]
    assert steps.index("release") < steps.index("close")


def _steps(*acts: Act, **terms: Any) -> list[tuple[str, Any]]:
    return [(step.verb, step.args) for step in case_of(acts, (), Parameters(**terms), "test").steps]


def test_what_the_broker_has_stored_by_itself_is_numbered_apart() -> None:
    found = [
        args["entries"] for verb, args in _steps(Act(Operation.FIND), Act(Operation.FIND)) if verb == "store_entries"
    ]
    numbers = [entry["sequence_id"] for entries in found for entry in entries]
    assert len(set(numbers)) == len(numbers)


def test_what_clients_have_died_of_is_met_alone() -> None:
    number = next(number for number, find in enumerate(FINDS) if find.deadly)
    case = case_of((Act(Operation.FIND, 0, number),), (), Parameters(), "test")
    assert case.isolation is Isolation.OWN_PROCESS


def test_a_topic_may_be_with_two_brokers_from_the_start() -> None:
    moved = [args for verb, args in _steps(partitions=3, brokers=2, spread=True) if verb == "unload"]
    assert moved == [{"topic": "t-partition-1", "broker": 1}]


def test_credentials_are_asked_for_only_of_a_client_that_has_some() -> None:
    verbs = [{verb for verb, _ in _steps(Act(Operation.CHALLENGE), tokens=tokens)} for tokens in ("", "first,second")]
    assert ["challenge" in each for each in verbs] == [False, True]


def test_producers_send_alike_when_all_of_them_send() -> None:
    sends = [args for verb, args in _steps(Act(Operation.OPEN_PRODUCER), Act(Operation.SEND_BY_ALL)) if verb == "send"]
    assert len(sends) == 2
    assert len({str(sorted((key, value) for key, value in args.items() if key != "producer")) for args in sends}) == 1


def test_a_harm_may_go_on() -> None:
    harm = DrawnFault("PRODUCER", AnswerError("ServiceNotReady"), times=0)
    (fault,) = case_of((), (harm,), Parameters(), "test").faults
    assert isinstance(fault.trigger, OnFrame)
    assert fault.trigger.times == 0


def test_whoever_waits_for_a_topic_gets_it_before_all_are_waited_for() -> None:
    acts = (Act(Operation.OPEN_PRODUCER, size=MODES.index(WAITS)), Act(Operation.SETTLE))
    case = case_of(acts, (), Parameters(claims=True), "test")
    verbs = [(step.verb, step.args.get("ops")) for step in case.steps]
    assert verbs.index(("close", None)) < verbs.index(("ops", [4])) < verbs.index(("ops", None))


def test_nobody_waits_for_ever_for_whoever_may_have_lost_the_topic() -> None:
    acts = (Act(Operation.OPEN_PRODUCER, size=MODES.index(WAITS)), Act(Operation.SETTLE))
    waits = [step for step in case_of(acts, (), Parameters(claims=True), "test").steps if step.verb == "ops"]
    assert {step.args["deadline_ms"] for step in waits} == {ADMITTED_MS}


def test_nothing_is_held_back_from_a_store_that_does_not_keep() -> None:
    verbs = {
        step.verb for step in case_of((Act(Operation.HOLD_STORE),), (), Parameters(persistent=False), "test").steps
    }
    assert "hold_store" not in verbs


def test_a_broker_that_does_not_always_read_is_asked_for_no_quick_sign_of_life() -> None:
    rules = next(rules for rules in SETTINGS if rules.stops_reading)
    assert Parameters(settings=rules, keep_alive_ms=700).for_client(None).keep_alive_ms == Parameters().keep_alive_ms


def test_ids_are_sent_again_beside_new_ones() -> None:
    acts = (Act(Operation.SEND, number=3), Act(Operation.SEND_AGAIN, number=2))
    (again,) = [
        step for step in case_of(acts, (), Parameters(deduplication=True), "test").steps if "messages" in step.args
    ]
    assert [message["sequence_id"] for message in again.args["messages"]] == [1, 2, 3, 4]


def test_a_namesake_is_on_another_connection() -> None:
    case = case_of((Act(Operation.OPEN_NAMESAKE),), (), Parameters(clients=2), "test")
    opened = [step.args for step in case.steps if step.verb == "open_producer"]
    assert [args["config"]["producer_name"] for args in opened] == ["p1", "p1"]
    assert opened[0]["client"] != opened[1]["client"]


def test_handles_of_a_client_that_is_not_restarted_stay() -> None:
    acts = (Act(Operation.OPEN_PRODUCER, who=1), Act(Operation.RESTART_CLIENT, who=1))
    case = case_of(acts, (), Parameters(clients=2), "test")
    opened = [step.args["config"]["producer_name"] for step in case.steps if step.verb == "open_producer"]
    assert opened == ["p1", "p2", "p2"]


def test_whoever_a_kill_ends_comes_back_in_a_fresh_process() -> None:
    acts = (Act(Operation.OPEN_PRODUCER, who=1), Act(Operation.SEND, number=3), Act(Operation.KILL_CLIENT))
    case = case_of(acts, (DrawnFault("SEND", Cut()),), Parameters(clients=2), "test")
    killed, cut = case.faults
    at = case.steps[: killed.trigger.step + 1] if isinstance(killed.trigger, AfterStep) else ()
    behind = [(step.verb, step.args.get("fault")) for step in case.steps[len(at) : len(at) + 3]]
    assert (at[-1].verb, behind) == ("send", [("fired", 0), ("heal", 0), ("healed", 0)])
    again = [step.verb for step in case.steps[len(at) + 3 :] if step.verb.startswith("open_")]
    assert Counter(again) == Counter(open_client=2, open_producer=2, open_consumer=1)
    assert (cut.action, case.isolation) == (Cut(), Isolation.OWN_PROCESS)


def test_a_life_has_one_kill_at_most() -> None:
    case = case_of(
        (Act(Operation.KILL_CLIENT), Act(Operation.SEND), Act(Operation.KILL_CLIENT)), (), Parameters(), "test"
    )
    assert len(case.faults) == 1


def test_nothing_is_settled_on_a_topic_that_keeps_nothing() -> None:
    acts = [Act(do) for do in (Operation.SEND, Operation.RECEIVE, Operation.ACK, Operation.NACK, Operation.SEEK)]
    verbs = {step.verb for step in case_of(acts, (), Parameters(persistent=False), "test").steps}
    assert verbs.isdisjoint({"ack", "nack", "seek"})


def test_a_backlog_is_there_before_anybody_comes_in_every_partition() -> None:
    case = case_of((), (), Parameters(backlog="plain", partitions=3), "test")
    first = [(step.verb, step.args.get("topic")) for step in case.steps[:4]]
    stored = [("store_entries", f"t-partition-{number}") for number in range(3)]
    assert first == [*stored, ("open_client", None)]


@pytest.mark.parametrize("rules", [rules for rules in (*RATES, *SETTINGS) if rules.stops_reading], ids=repr)
def test_whoever_publishes_too_much_stops_nobody_else(rules: Rules) -> None:
    acts = [Act(do, who) for who in range(3) for do in (Operation.OPEN_PRODUCER, Operation.OPEN_CONSUMER)]
    steps = case_of(acts, (), Parameters(rates=rules, subscription_type="shared"), "test").steps
    publishing, consuming = (
        {step.args["client"] for step in steps if step.verb == verb} for verb in ("open_producer", "open_consumer")
    )
    assert publishing.isdisjoint(consuming)


def test_an_outage_keeps_its_client_away() -> None:
    harm = DrawnFault("SEND", Cut(), away_ms=500)
    cut, refusal = case_of((), (harm,), Parameters(), "test").faults
    assert (cut.action, refusal.action) == (Cut(), Refuse())
    assert (cut.trigger, refusal.until.after_ms) == (refusal.trigger, 500)


def test_a_client_that_can_do_little_is_asked_little() -> None:
    able = frozenset({"producer", "consumer"})
    drawn = [case for area in Area for case in plan.draw(areas.lives(area, able), COUNT, SEED)]
    verbs = {step.verb for case in drawn for step in case.steps}
    assert verbs.isdisjoint({"seek", "nack"})
    assert not any(step.args.get("cumulative") or step.args.get("mode") for case in drawn for step in case.steps)
    sent = [step.args for case in drawn for step in case.steps if step.verb == "send"]
    opened = [step.args.get("config", {}) for case in drawn for step in case.steps if step.verb == "open_producer"]
    assert not any("messages" in args for args in sent)
    assert not any("access_mode" in config for config in opened)
    assert not any(case.config.producer["batching"] or case.config.producer["chunking"] for case in drawn)


_DIGEST = """
import hashlib, sys
{extra}
import msgspec
from hypothesis import strategies as st
from assay_conformance.machines import areas, plan
(case,) = plan.draw(areas.lives(areas.Area.MIXED), 1, 3)
numbers = st.integers(0, 99_999).map(lambda number: msgspec.structs.replace(case, title=str(number)))
drawn = [plan.draw(numbers, 200, 3), *(plan.draw(areas.lives(area), 12, 3) for area in areas.Area)]
print(hashlib.sha256(msgspec.json.encode(drawn)).hexdigest())
"""
"""Lives have no numbers beyond 100, from where on Hypothesis takes constants for numbers; so others are drawn, too."""


def _digest_elsewhere(extra: str) -> str:
    answer = subprocess.run([sys.executable, "-c", _DIGEST.format(extra=extra)], capture_output=True, check=True)
    return answer.stdout.decode().strip()


def test_the_plan_is_the_same_whatever_else_is_imported(tmp_path: object) -> None:
    """A module of the user's own, full of constants: Hypothesis would mix them into what it draws."""
    folder = str(tmp_path)
    with open(f"{folder}/decoy_constants.py", "w") as file:
        file.write("NAMES = ['never-drawn', 'nor-this']\nNUMBERS = [3, -17, 4711, 5813, 77_777]\n")
    with_decoy = f"sys.path.insert(0, {folder!r}); import decoy_constants, xml.dom, json.tool, http.server"
    assert _digest_elsewhere(with_decoy) == _digest_elsewhere("")


@pytest.mark.parametrize("area", Area)
def test_what_is_drawn_is_what_the_engine_draws(area: Area) -> None:
    """In the same order, whatever was thrown away for being drawn twice."""
    drawn = dict.fromkeys(map(_unnamed, plan.by_engine(areas.lives(area), COUNT, SEED)))
    assert list(map(_unnamed, _drawn(area))) == list(drawn)


def test_a_case_too_long_for_the_engine_is_left_to_it() -> None:
    long = st.lists(st.integers(), min_size=5_000)
    assert drawing.values(long, 3, random.Random(SEED), plan.PlainProvider) is None


@st.composite
def _assumed(draw: Any) -> Case:
    case: Case = draw(_SENDING)
    assume(draw(st.integers(0, 9)) == 7)
    return case


_SENDING = st.lists(st.just(Step(Who.AGENT, "send")), max_size=9).map(
    lambda steps: Case(id="x", title="x", requirements=(), steps=tuple(steps))
)
_NOTHING = {
    "nothing": st.nothing(),
    "one of none": st.one_of([]),
    "all filtered": _SENDING.filter(lambda _: False),
}


@pytest.mark.parametrize("name", _NOTHING)
def test_of_a_strategy_that_has_nothing_to_give_nothing_is_drawn(name: str) -> None:
    assert plan.draw(_NOTHING[name], COUNT, SEED) == []


def test_what_a_strategy_takes_back_is_left_to_the_engine() -> None:
    assert len(plan.draw(_assumed(), COUNT, SEED)) > 1


def _unnamed(case: Case) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(case, id=""))


def test_a_plan_is_drawn_again_to_the_byte() -> None:
    first = hashlib.sha256(msgspec.json.encode(_drawn(Area.MIXED)))
    again = hashlib.sha256(msgspec.json.encode(plan.draw(areas.lives(Area.MIXED), COUNT, SEED)))
    assert first.digest() == again.digest()


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_life_is_in_the_surroundings_that_it_needs(name: str) -> None:
    kind = KINDS[name]
    drawn = plan.draw(areas.share_of(kind).lives(None), 5, SEED)
    topics = {topic.name for topic in kind.of.topics}
    assert all(topics <= {topic.name for topic in case.topology.topics} for case in drawn)
    assert not any(kind.of.quiet and step.verb == "send" for case in drawn for step in case.steps)


def test_nobody_is_drawn_a_life_of_what_they_cannot_do() -> None:
    drawn = plan.draw(areas.lives(Area.CONSUMING, frozenset({"producer", "consumer"})), 60, SEED)
    configs = [case.config.consumer for case in drawn]
    assert not any("max_redeliver_count" in config or config["receiver_queue_size"] == 0 for config in configs)


def test_what_a_topic_holds_is_stored_before_anybody_comes() -> None:
    terms = Parameters(around=Around(stock=("single messages", "no last chunk")))
    first, *_ = case_of((), (), terms, "test").steps
    assert first.verb == "store_entries"
    assert len({str(entry) for entry in first.args["entries"]}) == 5 + 2


def test_a_second_one_on_an_exclusive_subscription_is_not_counted_on() -> None:
    steps = case_of((Act(Operation.OPEN_BESIDE), Act(Operation.RECEIVE, who=1)), (), Parameters(), "test").steps
    opened = [step.saves for step in steps if step.verb == "open_consumer"]
    assert [step.args["consumer"] for step in steps if step.verb == "receive"] == opened[:1]


def test_nothing_is_drawn_that_nobody_asked_for() -> None:
    acts = drawing.values(scenarios.call(Operation.RECEIVE), 5, random.Random(SEED), plan.PlainProvider)
    assert acts == [Act(Operation.RECEIVE)] * 5


def test_a_broker_dies_or_stops_in_good_order() -> None:
    restarts = [
        args
        for verb, args in _steps(Act(Operation.RESTART, number=0), Act(Operation.RESTART, number=1))
        if verb == "restart"
    ]
    assert restarts == [{}, {"graceful": True}]


def test_a_topic_that_went_to_another_cluster_stays_there() -> None:
    steps = _steps(Act(Operation.MIGRATE), Act(Operation.MOVE), Act(Operation.MIGRATE), brokers=2)
    assert [(verb, args["broker"]) for verb, args in steps if verb in ("move", "migrate")] == [("migrate", 1)]


def test_everybody_listens_in_the_end_where_nothing_may_be_missing() -> None:
    receives = [args["count"] for verb, args in _steps(listens_out=True) if verb == "receive"]
    assert receives == [EVERYTHING]


def test_a_second_seek_does_not_wait_for_the_first() -> None:
    verbs = [verb for verb, _ in _steps(Act(Operation.SEEK_TWICE))]
    place = verbs.index("seek")
    assert verbs[place : place + 3] == ["seek", "seek", "ops"]


def test_messages_are_sent_round_only_where_that_is_set_up() -> None:
    kind = KINDS["sends round"]
    drawn = plan.draw(areas.share_of(kind).lives(None), COUNT, SEED)
    assert any(step.verb == "reconsume_later" for case in drawn for step in case.steps)
    assert "reconsume_later" not in {verb for verb, _ in _steps(Act(Operation.LATER))}


def test_a_queue_smaller_than_a_batch_does_not_wait_long_for_one() -> None:
    terms = Parameters(small_queue=True, batching_max_publish_delay_ms=700).for_client(None)
    assert terms.batching_max_publish_delay_ms == Parameters().batching_max_publish_delay_ms


def test_areas_of_many_kinds_have_more_turns() -> None:
    unusual = {Area.CONSUMING: 8, Area.SENDING: 6, Area.LIMITS: 1}
    turns = Counter(
        areas.by_turns(number) for number in range(2 * len(Area) + sum(unusual.values()) - 2 * len(unusual))
    )
    assert {area: count for area, count in turns.items() if count != 2} == unusual


def test_one_area_has_every_turn() -> None:
    assert {areas.by_turns(number, (Area.LIMITS,)) for number in range(3)} == {Area.LIMITS}
