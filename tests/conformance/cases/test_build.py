import msgspec

from assay_conformance.cases.build import Schedule, down, up
from assay_conformance.model.case import Case, Who
from assay_conformance.model.fault import Cut, Direction, Fault


def _case() -> Case:
    plan = Schedule()
    producer = plan.producer(plan.client(io_threads=1), send_timeout_ms=500)
    plan.send(producer, 3, size=10, key="k")
    plan.wait_sends(3)
    faults = (Fault(trigger=down("SEND_RECEIPT", k=2), action=Cut()),)
    return plan.case(
        "resend/example", "An example", ("resend.identical-bytes",), faults=faults, producer={"batching": False}
    )


def test_steps_refer_to_what_earlier_ones_saved() -> None:
    opened = [step for step in _case().steps if step.verb.startswith("open")]
    assert opened[1].args == {"client": opened[0].saves, "topic": "t", "config": {"send_timeout_ms": 500}}


def test_opening_waits_until_the_handle_is_open() -> None:
    steps = _case().steps
    assert [(step.who, step.verb) for step in steps[:2]] == [(Who.AGENT, "open_client"), (Who.WAIT, "ops")]
    assert steps[1].args == {"ops": [steps[0].saves]}


def test_a_built_case_survives_json() -> None:
    case = _case()
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case) == case


def test_triggers_say_their_direction() -> None:
    assert (up("SEND").direction, down("SEND_RECEIPT").direction) == (Direction.TO_BROKER, Direction.TO_CLIENT)


def test_acks_name_all_unless_told() -> None:
    plan = Schedule()
    consumer = plan.consumer(plan.client())
    plan.ack(consumer)
    plan.ack(consumer, numbers=(2, 3), cumulative=True)
    assert plan.steps[-2].args == {"consumer": consumer, "all": True}
    assert plan.steps[-1].args == {"consumer": consumer, "numbers": [2, 3], "cumulative": True}
