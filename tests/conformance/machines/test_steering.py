"""Steering goes where little has been seen."""

from __future__ import annotations

from assay_conformance.machines.coverage import Coverage, label
from assay_conformance.machines.steering import RARE, Steering
from assay_conformance.model.case import Case, Step, Who
from assay_conformance.model.fault import Cut, Direction, Drop, Fault, OnFrame

SEND = OnFrame(command="SEND", direction=Direction.TO_BROKER)
CUT, DROP = (Fault(trigger=SEND, action=action) for action in (Cut(), Drop()))


def _case(*verbs: str, faults: tuple[Fault, ...] = ()) -> Case:
    steps = tuple(Step(Who.AGENT, verb) for verb in verbs)
    return Case(id="-".join(verbs), title="x", requirements=(), steps=steps, faults=faults)


def test_a_case_with_traits_that_have_not_met_goes_first() -> None:
    steering = Steering(["a"])
    steering.saw(_case("send", "ack"), [], Coverage())
    assert steering.best([_case("send", "ack"), _case("send", "seek")], 1) == [_case("send", "seek")]


def test_a_case_like_those_that_exercised_a_rare_clause_goes_first() -> None:
    steering = Steering(["rare", "common"])
    for _ in range(RARE):
        steering.saw(_case("ack"), ["common"], Coverage())
        steering.saw(_case("seek"), ["common"], Coverage())
    steering.saw(_case("seek"), ["rare"], Coverage())
    assert steering.best([_case("ack"), _case("seek")], 1) == [_case("seek")]


def test_a_case_like_what_was_written_for_a_clause_that_nobody_exercised_goes_first() -> None:
    steering = Steering(["clause"], {"clause": [_case("seek", "ack")]})
    for verbs in (("ack", "nack"), ("ack", "seek")):
        steering.saw(_case(*verbs), [], Coverage())
    assert steering.best([_case("ack", "nack"), _case("ack", "seek")], 1) == [_case("ack", "seek")]


def test_a_clause_that_was_exercised_is_sought_by_what_exercised_it() -> None:
    steering = Steering(["clause"], {"clause": [_case("seek", "ack")]})
    for verbs in (("ack", "nack"), ("ack", "seek")):
        steering.saw(_case(*verbs), ["clause"] if "nack" in verbs else [], Coverage())
    assert steering.best([_case("ack", "seek"), _case("ack", "nack")], 1) == [_case("ack", "nack")]


def test_a_clause_that_is_rare_no_longer_draws_nobody() -> None:
    steering = Steering(["clause"])
    for _ in range(RARE):
        steering.saw(_case("seek"), ["clause"], Coverage())
        steering.saw(_case("ack"), [], Coverage())
    assert steering.best([_case("ack"), _case("seek")], 1) == [_case("ack")]


def test_those_that_are_chosen_keep_the_order_of_the_draw() -> None:
    cases = [_case("send"), _case("send", "seek", "ack"), _case("nack", "flush")]
    assert Steering(["a"]).best(cases, 2) == cases[1:]


def test_what_is_no_clause_of_this_client_is_not_counted() -> None:
    steering = Steering(["a"])
    steering.saw(_case("send"), ["a", "b"], Coverage(pairs=(("idle", "cut"),)))
    assert (steering.clauses, steering.pairs) == ({"a": 1}, {("idle", "cut"): 1})


def _steered_by(*seen: tuple[str, Fault, str]) -> Steering:
    """Each (verb, fault, state it met) so often that neither verb nor fault nor their meeting is new."""
    steering = Steering(["clause"])
    for verb, fault, state in seen:
        covered = Coverage(pairs=((state, label(fault)),))
        for _ in range(RARE):
            steering.saw(_case(verb, faults=(fault,)), [], covered)
    return steering


def test_a_fault_goes_where_it_has_not_met_the_client_yet() -> None:
    steering = _steered_by(("send", CUT, "sending"), ("send", DROP, "sending"), ("ack", CUT, "settling"))
    steering.saw(_case("ack", faults=(DROP,)), [], Coverage())
    cases = [_case("send", faults=(DROP,)), _case("ack", faults=(DROP,))]
    assert steering.best(cases, 1) == [_case("ack", faults=(DROP,))]


def test_a_fault_that_met_every_state_often_is_sought_in_none() -> None:
    steering = _steered_by(
        ("send", CUT, "sending"), ("send", DROP, "sending"), ("ack", CUT, "settling"), ("ack", DROP, "settling")
    )
    cases = [_case("send", faults=(DROP,)), _case("ack", faults=(DROP,))]
    assert steering.best(cases, 1) == cases[:1]


def test_of_what_promises_little_some_is_run_all_the_same() -> None:
    steering = Steering(["a"])
    plain = [_case("send") for _ in range(2)]
    for case in plain:
        steering.saw(case, [], Coverage())
    promising = [_case("send", f"verb-{number}") for number in range(8)]
    assert steering.best([*plain, *promising], 4) == [plain[0], *promising[:3]]


def test_a_case_like_those_that_show_what_is_listed_leaves_its_place_to_another() -> None:
    steering = Steering(["a"])
    for _ in range(RARE):
        steering.saw(_case("send", "seek"), [], Coverage(), hides=True)
        steering.saw(_case("send", "ack"), [], Coverage())
    assert steering.best([_case("send", "seek"), _case("send", "ack")], 1) == [_case("send", "ack")]
