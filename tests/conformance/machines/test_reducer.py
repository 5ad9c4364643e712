"""What the reducer proposes to take from a Case, and what is left when several things go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from assay_conformance.machines.edit import Edit
from assay_conformance.machines.reducer import Reducer, without_unfired
from assay_conformance.model.case import Case, ClientConfig, Step, Topic, Topology, Who
from assay_conformance.model.fault import AfterStep, AtTime, Cut, Direction, Drop, Fault, OnFrame, Until
from assay_conformance.model.outside import Kill, Role, Target

LOST = Fault(trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER, k=3), action=Drop())


def _case(*verbs: str, size: int = 1, faults: tuple[Fault, ...] = ()) -> Case:
    steps = tuple(Step(Who.AGENT, verb, {"size": size} if verb == "send" else {}) for verb in verbs)
    return Case(id="generated/x", title="x", requirements=(), steps=steps, faults=faults)


def _reduced(case: Case, fails: Callable[[Case], bool]) -> tuple[Case, int]:
    """One thing taken at a time; and how many runs that took."""
    reducer, runs = Reducer(case), 0
    while edits := reducer.proposals():
        runs += len(edits)
        reducer.accept(next((edit for edit in edits if fails(edit.of(reducer.case))), None))
    return reducer.case, runs


def test_steps_and_faults_go_together() -> None:
    left = (Edit(steps=frozenset({0})) | Edit(faults=frozenset({0}))).of(_case("send", "ack", faults=(LOST,)))
    assert ([step.verb for step in left.steps], left.faults) == (["ack"], ())


KILLED = Fault(trigger=AfterStep(1), action=Kill(target=Target(role=Role.CLIENT)))


def _killed() -> Case:
    """A message is lost, and then the client is killed, and started again."""
    steps = (
        Step(Who.AGENT, "send"),
        Step(Who.AGENT, "flush"),
        *(Step(who, verb, {"fault": 1}) for who, verb in ((Who.WAIT, "fired"), (Who.BENCH, "heal"))),
    )
    return Case(id="x", title="x", requirements=(), steps=steps, faults=(LOST, KILLED))


def test_with_a_fault_go_the_steps_that_name_it() -> None:
    left = Edit(faults=frozenset({1})).of(_killed())
    assert ([step.verb for step in left.steps], left.faults) == (["send", "flush"], (LOST,))


def test_a_fault_keeps_its_name_when_one_before_it_goes() -> None:
    left = Edit(faults=frozenset({0})).of(_killed())
    assert ([step.args for step in left.steps[2:]], left.faults) == ([{"fault": 0}] * 2, (KILLED,))


def test_a_fault_keeps_its_place_when_a_step_before_it_goes() -> None:
    left = Edit(steps=frozenset({1})).of(_killed())
    assert left.faults[1].trigger == AfterStep(0)


def test_a_fault_before_which_no_step_is_left_happens_at_once() -> None:
    left = Edit(steps=frozenset({0, 1})).of(_killed())
    assert left.faults[1].trigger == AtTime(0)


def test_a_fault_ends_behind_the_same_step_when_one_before_it_goes() -> None:
    lasting = msgspec.structs.replace(LOST, until=Until(step=1))
    left = Edit(steps=frozenset({0})).of(_case("send", "ack", faults=(lasting,)))
    assert left.faults[0].until.step == 0


def test_what_did_not_act_leaves_the_record_and_the_steps_keep_their_faults() -> None:
    idle = msgspec.structs.replace(LOST, optional=True)
    left = without_unfired(msgspec.structs.replace(_killed(), faults=(idle, KILLED)), {1})
    assert ([step.args.get("fault") for step in left.steps[2:]], left.faults) == ([0, 0], (KILLED,))


def test_of_two_words_for_one_number_the_first_holds() -> None:
    left = (Edit(arguments={(0, "size"): 1}) | Edit(arguments={(0, "size"): 5})).of(_case("send", size=10))
    assert left.steps[0].args == {"size": 1}


def test_a_plainer_fault_is_at_the_same_frame() -> None:
    left = (Edit(plainer={0: Fault(trigger=LOST.trigger, action=Cut())}) | Edit(ks={0: 1})).of(_case(faults=(LOST,)))
    (fault,) = left.faults
    assert isinstance(fault.trigger, OnFrame)
    assert (fault.action, fault.trigger.command, fault.trigger.k) == (Cut(), "SEND", 1)


def test_what_is_said_of_the_topic_goes_word_by_word() -> None:
    topic = Topic(name="t", partitions=3, deduplication=True)
    case = Case(id="x", title="x", requirements=(), steps=(), topology=Topology(topics=(topic,)))
    left = Edit(topic=frozenset({"partitions"})).of(case)
    assert left.topology.topics == (Topic(name="t", deduplication=True),)


def test_a_setting_goes_and_the_others_stay() -> None:
    config = ClientConfig(producer={"batching": True, "chunking": False})
    case = Case(id="x", title="x", requirements=(), steps=(), config=config)
    assert Edit(keys=frozenset({("producer", "batching")})).of(case).config.producer == {"chunking": False}


def test_a_thousand_bytes_are_not_lowered_one_by_one() -> None:
    _, runs = _reduced(_case("send", size=2_500), lambda case: any(s.args.get("size", 0) > 1_000 for s in case.steps))
    assert runs < 20


def test_a_step_that_a_number_made_necessary_goes_when_the_number_does() -> None:
    def fails(case: Case) -> bool:
        sizes = [step.args["size"] for step in case.steps if step.verb == "send"]
        return bool(sizes) and (max(sizes) == 1 or "ack" in {step.verb for step in case.steps})

    left, _ = _reduced(_case("send", "ack", size=8), fails)
    assert [step.verb for step in left.steps] == ["send"]


def test_of_a_pause_and_a_wait_for_something_the_wait_stays() -> None:
    waits = (Step(Who.WAIT, "ops"), Step(Who.WAIT, "ms", {"ms": 50}), Step(Who.WAIT, "ms", {"ms": 400}))
    for steps in (waits, waits[::-1]):
        case = Case(id="x", title="x", requirements=(), steps=steps)
        left, _ = _reduced(case, lambda case: any(step.who is Who.WAIT for step in case.steps))
        assert [step.verb for step in left.steps] == ["ops"]


def test_of_a_case_that_needs_all_it_has_each_step_and_fault_is_tried_twice_and_nothing_else() -> None:
    case = _case("send", "ack", "nack", size=8, faults=(LOST, msgspec.structs.replace(LOST, action=Cut())))
    tried: Counter[bytes] = Counter()
    reducer = Reducer(case)
    while edits := reducer.proposals():
        tried.update(msgspec.json.encode(edit.of(case)) for edit in edits)
        reducer.accept(None)
    without_one = [Edit(steps=frozenset({index})) for index in range(3)]
    without_one += [Edit(faults=frozenset({index})) for index in range(2)]
    twice = {msgspec.json.encode(edit.of(case)) for edit in without_one}
    assert {text for text, times in tried.items() if times > 1} == twice
    assert max(tried.values()) == 2


def test_a_small_case_that_needs_all_it_has_is_shown_to_in_one_round() -> None:
    reducer = Reducer(_case("send", "ack"))
    tried = Counter(msgspec.json.encode(edit.of(reducer.case)) for edit in reducer.proposals())
    assert [tried[msgspec.json.encode(Edit(steps=frozenset({index})).of(reducer.case))] for index in range(2)] == [2, 2]
    assert reducer.may_be_last
    reducer.accept(None)
    assert reducer.proposals() == []


def test_a_round_that_does_not_hold_all_that_is_to_be_tried_is_not_the_last() -> None:
    reducer = Reducer(_case(*["send", "ack"] * 15))
    assert reducer.proposals()
    assert not reducer.may_be_last


def test_what_was_left_open_is_tried_again_and_counts_as_needed_after_three_rounds() -> None:
    case, hard_to_say = _case("send", "ack", "nack", size=8), Edit(steps=frozenset({0}))
    reducer, rounds = Reducer(case), 0
    while edits := reducer.proposals():
        left_open = [edit for edit in edits if edit == hard_to_say]
        rounds += bool(left_open)
        reducer.accept(None, left_open)
    assert rounds == 3


@pytest.mark.parametrize("open_rounds", [1, 2])
def test_what_was_left_open_and_is_refused_later_is_proposed_no_more(open_rounds: int) -> None:
    reducer, rounds = Reducer(_case("send", "ack", "nack", size=8)), 0
    while edits := reducer.proposals():
        rounds += 1
        assert rounds < 10
        reducer.accept(None, [edit for edit in edits if rounds <= open_rounds and edit == Edit(steps=frozenset({0}))])


def test_a_round_with_little_to_try_gets_what_would_be_tried_next() -> None:
    edits = Reducer(_case("send", size=8)).proposals()
    assert Edit(steps=frozenset({0})) in edits
    assert Edit(arguments={(0, "size"): 4}) in edits


def test_time_outs_become_as_short_as_they_are_drawn() -> None:
    config = ClientConfig(client={"operation_timeout_ms": 2_000}, producer={"send_timeout_ms": 2_000, "batching": True})
    case = Case(id="x", title="x", requirements=(), steps=(), config=config)
    left, _ = _reduced(case, lambda _: True)
    assert left.config == ClientConfig(client={"operation_timeout_ms": 1_000}, producer={"send_timeout_ms": 500})


def test_a_time_out_that_has_to_be_long_stays_while_another_becomes_short() -> None:
    config = ClientConfig(client={"operation_timeout_ms": 2_000}, producer={"send_timeout_ms": 2_000})
    case = Case(id="x", title="x", requirements=(), steps=(), config=config)
    left, _ = _reduced(case, lambda case: case.config.producer["send_timeout_ms"] == 2_000)
    assert left.config.client == {"operation_timeout_ms": 1_000}
