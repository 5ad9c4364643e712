"""A Case from a file is run only if it can be; every Case there is can."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.cases.well_formed import check_case, check_topology
from assay_conformance.machines import areas, plan
from assay_conformance.machines.areas import Area
from assay_conformance.model.case import Case, ClientConfig, Limits, Step, Topic, Topology, Who
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AtTime, Delay, Direction, Drop, Duplicate, Fault, FieldValue, OnFrame, Rewrite
from assay_fixtures.agents.manifest import find
from assay_fixtures.packs import load_packs
from assay_reports.replay import read_replay

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
DRAWN, SEED = 40, 11
SEND = OnFrame(command="SEND", direction=Direction.TO_BROKER)


def read(case: Case) -> Case:
    """As it comes out of a file."""
    return msgspec.json.decode(msgspec.json.encode(case), type=Case)


def refused(**fields: Any) -> str:
    whole = Case(**{"id": "a/b", "title": "An example", "requirements": (), "steps": (), **fields})
    with pytest.raises(UsageError) as caught:
        check_case(read(whole), "x.json")
    return str(caught.value)


def of_step(who: Who, verb: str, **args: Any) -> str:
    client = Step(Who.AGENT, "open_client", saves=1)
    return refused(steps=(client, Step(who, verb, args, saves=2)))


def test_every_case_of_the_suite_is_accepted() -> None:
    for case in load_packs().cases:
        check_case(read(case), case.id)


def test_every_shipped_replay_is_accepted() -> None:
    assert [read_replay(path.read_bytes(), path.name).breaches for path in REPLAYS].count(()) == 0


@pytest.mark.parametrize("area", Area)
def test_everything_that_is_drawn_is_accepted(area: Area) -> None:
    for case in plan.draw(areas.lives(area), DRAWN, SEED):
        check_case(read(case), case.id)


def test_a_step_that_lacks_an_argument_is_told_with_its_place() -> None:
    told = of_step(Who.AGENT, "send", count=2)
    assert told == "x.json: step 1, send: 'producer' is missing, expected a whole number from 0 to 1000000"


def test_what_opens_a_handle_says_its_number() -> None:
    told = refused(steps=(Step(Who.AGENT, "open_client"),))
    assert told == "x.json: step 0, open_client: 'saves' is missing, expected the number of the handle it opens"


def test_an_argument_of_another_kind_is_told_with_what_came() -> None:
    told = of_step(Who.AGENT, "send", producer=2, count="many")
    assert told == "x.json: step 1, send: 'count': expected a whole number from 1 to 100000, came 'many'"


@pytest.mark.parametrize(
    ("who", "verb", "args", "words"),
    [
        (Who.AGENT, "sned", {}, "step 1: verb of agent: expected one of open_client, .*, came 'sned'"),
        (Who.WAIT, "ms", {}, "step 1, ms: 'ms' is missing, expected a whole number"),
        (Who.WAIT, "ms", {"ms": -1}, "'ms': expected a whole number from 0 to .*, came -1"),
        (Who.WAIT, "ms", {"ms": True}, "'ms': expected a whole number from 0 to .*, came True"),
        (Who.WAIT, "received", {"consumer": 1}, "'count' is missing"),
        (Who.WAIT, "frame", {"command": "SEND", "direction": "up"}, "'direction': expected one of c2b, b2c, came 'up'"),
        (Who.BENCH, "cure", {}, "verb of bench: expected one of heal, came 'cure'"),
        (Who.BROKER, "explode", {}, "step 1: broker step 'explode': expected one of"),
        (Who.BROKER, "grow", {"topic": "t"}, "step 1: broker step 'grow': .*missing required field `partitions`"),
        (
            Who.BROKER,
            "grow",
            {"topic": "t", "partitions": 10**9},
            "'partitions': expected a whole number from 0 to 1000",
        ),
        (Who.BROKER, "move", {"topic": "t", "broker": 0, "x=y": 1}, "broker step 'move': .*unknown key 'x=y'"),
        (Who.BROKER, "move", {"topic": "t", "broker": 1}, "'broker': expected a whole number from 0 to 0, came 1"),
        (Who.BROKER, "unload", {"topic": "u"}, "topic: expected one of t, came 'u'"),
        (Who.AGENT, "open_producer", {"client": 1, "topic": "u"}, "topic: expected one of t, came 'u'"),
        (Who.AGENT, "open_client", {"config": {"io_threads": "x"}}, "'config': expected configuration keys"),
        (Who.AGENT, "seek", {"consumer": 2}, "seek: expected one of delivery, publish_time_ms, came neither"),
        (Who.AGENT, "send", {"producer": 2, "messages": [{"size": -1}]}, "'messages': expected a list of messages"),
        (Who.AGENT, "send", {"producer": 2, "count": 1000, "size": 2**26}, "expected at most 1073741824 bytes"),
        (Who.AGENT, "close", {"handle": 2**63}, "'handle': expected a whole number"),
    ],
)
def test_steps_that_cannot_be_run_are_refused(who: Who, verb: str, args: dict[str, Any], words: str) -> None:
    told = of_step(who, verb, **args)
    assert told.startswith("x.json: ")
    with pytest.raises(UsageError, match=words):
        raise UsageError(told)


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        (Topology(brokers=10**6), "topology: 'brokers': expected a whole number from 1 to 16, came 1000000"),
        (Topology(brokers=0), "'brokers': expected a whole number from 1"),
        (Topology(topics=(Topic(name="t", partitions=10**9),)), "'partitions': expected a whole number from 0 to 1000"),
        (Topology(topics=tuple(Topic(name=f"t{n}", partitions=900) for n in range(2))), "1000 partitions, came 1800"),
        (Topology(topics=tuple(Topic(name=f"t{n}") for n in range(101))), "at most 100 topics, came 101"),
        (Topology(keep_alive_ms=0), "'keep_alive_ms': expected a whole number from 1"),
        (Topology(protocol_version=2**70), "'protocol_version': expected a number of 64 bits"),
    ],
)
def test_brokers_that_no_machine_brings_up_are_refused(topology: Topology, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_topology(topology, "x.json")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(trigger=SEND, action=Delay(delay_ms=-1)), "fault 0: 'delay_ms': expected a whole number from 0"),
        (Fault(trigger=SEND, action=Duplicate(copies=10**9)), "fault 0: 'copies': expected a whole number"),
        (Fault(trigger=AtTime(10**12), action=Drop()), "fault 0: 'at_ms': expected a whole number"),
    ],
)
def test_faults_that_mean_nothing_are_refused(fault: Fault, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        raise UsageError(refused(faults=(fault,)))


def test_fields_of_frames_are_what_the_protocol_takes() -> None:
    fields: dict[str, FieldValue] = {"message_id.ledgerId": 2**64 - 1, "partitions": 2**31, "timeout_ms": -1}
    fault = Fault(trigger=SEND, action=Rewrite(fields))
    check_case(Case(id="a/b", title="", requirements=(), steps=(), faults=(fault,)), "x.json")


def test_configuration_and_limits_are_looked_at() -> None:
    assert "config, producer: 'batching': expected true or false, came 'yes'" in refused(
        config=ClientConfig(producer={"batching": "yes"})
    )
    assert "limits: 'operation_ms'" in refused(limits=Limits(operation_ms=-1))


def test_an_id_that_is_too_long_for_a_file_is_refused() -> None:
    assert "expected at most 200 letters, came 300" in refused(id="a" * 300)
    assert "expected at most 200 letters" in refused(id="/".join("a" * 80))


def test_what_is_nested_without_end_is_refused() -> None:
    nested: Any = 1
    for _ in range(900):
        nested = [nested]
    case = Case(id="a/b", title="", requirements=(), steps=(Step(Who.AGENT, "close", {"handle": nested}),))
    with pytest.raises(UsageError, match=r"x\.json: "):
        check_case(case, "x.json")
