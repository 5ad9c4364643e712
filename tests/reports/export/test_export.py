"""A failure becomes a script and a plan, or one sentence says why not."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep, AtTime, Cut, Drop, Fault, Until
from assay_conformance.model.outside import LimitData
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.agents.manifest import installed
from assay_fixtures.cli import _run
from assay_fixtures.light.faults import read_plan
from assay_reports.export import Exported, export
from assay_reports.export.values import flat
from assay_reports.replay import Breach, Replay

OPTIONS = {
    "client": {},
    "producer": {"batching": "batching_enabled", "compression": "compression_type"},
    "consumer": {},
}
KNOWN = ("batching.highest-sequence-id", "no-highest-id")
TOPIC = "persistent://public/default/t"
LETTERS = {
    **OPTIONS,
    "consumer": {
        "pattern_update_ms": "pattern_auto_discovery_period",
        "max_redeliver_count": "dead_letter_policy",
        "dead_letter_subscription": "dead_letter_policy",
    },
}


def replay(case: Case, finding: tuple[str, str] = KNOWN, client: str = "pulsar-client") -> Replay:
    requirement, code = finding
    breach = Breach(requirement=RequirementId(requirement), clause="It must hold.", code=code, sentence="It did not")
    return Replay(
        schema="1.0",
        file="replay",  # type: ignore[arg-type]
        suite="0",
        catalogue="c",
        agent="pulsar-python",
        client=client,
        version="3.13.0",
        broker="embedded",
        case=case,
        breaches=(breach,),
    )


def case(*faults: Fault, verb: str = "", **producer: Any) -> Case:
    plan = Schedule()
    opened = plan.producer(plan.client())
    plan.send(opened, 3, size=100)
    if verb:
        plan.agent(verb, {"producer": opened})
    plan.wait_ops()
    return plan.case("batching/example", "An example", (KNOWN[0],), producer=producer, faults=faults)


def listening() -> Case:
    plan = Schedule()
    plan.receive(plan.consumer(plan.client(), listener=True), 1)
    return plan.case("listener/example", "An example", (KNOWN[0],))


def supplied() -> Case:
    plan = Schedule()
    plan.producer(plan.client(credentials="token:first,raise"))
    return plan.case("connection/example", "An example", (KNOWN[0],))


def made(*faults: Fault, **producer: Any) -> Exported:
    return export(replay(case(*faults, **producer)), OPTIONS, "example")


def test_script_says_what_was_expected_and_how_to_run_it() -> None:
    script = made().script
    for words in ("An example.", "It must hold.", "assay broker --faults example.faults.json", "It did not"):
        assert words in script


def test_script_makes_the_calls_of_the_case_in_the_clients_words() -> None:
    script = made(batching=True, compression="ZLIB").script
    assert " batching_enabled=True," in script
    assert "compression_type=pulsar.CompressionType.ZLib,\n" in script
    assert "    for _ in range(3):\n        send_async(producer, size=100)\n" in script


def test_plan_is_what_the_broker_takes(tmp_path: Path) -> None:
    fault = Fault(trigger=down("SEND_RECEIPT"), action=Drop())
    path = tmp_path / "plan.json"
    path.write_text(made(fault).plan)
    read = read_plan(path)
    assert read.faults == (fault,)
    assert read.topology is not None
    assert [topic.name for topic in read.topology.topics] == ["t"]
    assert f"plan={flat({'topology': msgspec.to_builtins(read.topology), 'faults': 1})},\n" in made(fault).script


def test_fault_that_begins_with_a_step_begins_in_the_script() -> None:
    exported = made(Fault(trigger=AfterStep(3), action=Cut()))
    assert json.loads(exported.plan)["faults"] == []
    assert "    begin_fault(\n        0,\n" in exported.script or "    begin_fault(0, {" in exported.script
    assert '"trigger": {"when": "time", "at_ms": 0}' in exported.script


def test_fault_that_ends_with_a_step_is_ended_by_the_script() -> None:
    exported = made(Fault(trigger=down("PONG"), action=Drop(), until=Until(step=3)))
    assert not json.loads(exported.plan)["faults"][0].get("until")
    calls = exported.script.partition("def schedule")[2]
    assert re.search(r"wait_for\(producer(, timeout_s=[0-9.]+)?\)\n    end_fault\(0\)\n    for _ in", calls)


def test_fault_that_never_begins_makes_no_script() -> None:
    with pytest.raises(UsageError, match="fault 0 never begins"):
        made(Fault(trigger=AfterStep(99), action=Cut()))


def test_steps_of_the_broker_are_asked_of_it() -> None:
    plan = Schedule()
    for verb, args in (("migrate", {"broker": 1}), ("fail_store", {}), ("delete", {})):
        plan.broker(verb, topic="t", **args)
    script = export(replay(plan.case("batching/example", "An example", (KNOWN[0],))), OPTIONS, "example").script
    assert f'broker("migrate", topic="{TOPIC}", broker=1)' in script
    assert f'broker("fail_store", topic="{TOPIC}")' in script


def test_consumer_is_opened_and_placed_in_the_clients_words() -> None:
    plan = Schedule()
    client = plan.client()
    consumer = plan.agent("open_consumer", {"client": client, "pattern": "t.*"})
    plan.agent("seek", {"consumer": consumer, "publish_time_ms": 7})
    example = plan.case(
        "batching/example",
        "An example",
        (KNOWN[0],),
        consumer={"max_redeliver_count": 2, "dead_letter_subscription": "d", "pattern_update_ms": 1500},
    )
    script = export(replay(example), LETTERS, "example").script
    assert f'client, re.compile("{TOPIC}.*"), subscription="s",' in script
    assert " pattern_auto_discovery_period=2,\n" in script
    assert ' dead_letter_policy=pulsar.ConsumerDeadLetterPolicy(2, initial_subscription_name="d"),\n' in script
    assert "    seek_to_time(consumer, 7)\n" in script


def test_reader_is_opened_with_the_options_of_readers() -> None:
    script = _of_a_reader(receiver_queue_size=5)
    assert f'open_reader(client, "{TOPIC}", start=pulsar.MessageId.earliest, receiver_queue_size=5)' in script


def test_option_that_readers_do_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="step 2, open_consumer: nack_delay_ms cannot be set on a reader"):
        _of_a_reader(nack_delay_ms=5)


def _of_a_reader(**config: Any) -> str:
    plan = Schedule()
    plan.agent("open_consumer", {"client": plan.client(), "topics": ["t"], "config": {"durable": False, **config}})
    return export(replay(plan.case("batching/example", "An example", (KNOWN[0],))), OPTIONS, "example").script


def test_what_was_refused_is_named_in_plain_words() -> None:
    plan = Schedule()
    consumer = plan.consumer(plan.client())
    plan.agent("nack", {"consumer": consumer, "numbers": [0]})
    plan.agent("ack", {"consumer": consumer, "messages": [1, 2], "cumulative": True})
    plan.agent("ack", {"consumer": consumer, "all": True})
    script = export(replay(plan.case("batching/example", "An example", (KNOWN[0],))), OPTIONS, "example").script
    for words in (
        "negative_acknowledge(consumer, numbered(0))",
        "acknowledge_cumulative(consumer, received(1, 2))",
        "acknowledge(consumer, unacknowledged())",
    ):
        assert f"    {words}\n" in script


def test_what_is_done_again_and_again_is_a_loop() -> None:
    plan = Schedule()
    producer = plan.producer(plan.client())
    for _ in range(3):
        plan.send(producer, 1, size=9)
        plan.wait_ms(20)
    script = export(replay(plan.case("batching/example", "An example", (KNOWN[0],))), OPTIONS, "example").script
    loop = "    for _ in range(3):\n        send_async(producer, size=9)\n        time.sleep(0.02)\n"
    assert loop in script


def test_several_are_numbered_and_named_so_in_the_sentence() -> None:
    plan = Schedule()
    client = plan.client()
    plan.send(plan.producer(client), 1)
    second = plan.producer(client)
    plan.send(second, 1)
    told = replay(plan.case("batching/example", "An example", (KNOWN[0],)))
    sentence = f"producer {second} (assay-0-2): send (operation 9) in the Case"
    breach = msgspec.structs.replace(told.breaches[0], sentence=sentence)
    script = export(msgspec.structs.replace(told, breaches=(breach,)), OPTIONS, "example").script
    assert "send_async(producer_2, size=" in script
    assert "- producer_2: send in the schedule.\n" in script


def test_title_of_what_was_found_by_chance_is_what_was_not_kept() -> None:
    found = msgspec.structs.replace(case(), title="reduced from what exploration drew")
    script = export(replay(found), OPTIONS, "example").script
    assert ast.get_docstring(ast.parse(script), clean=False).startswith(  # type: ignore[union-attr]
        "pulsar-client 3.13.0 does not keep this: It must hold."
    )


def test_title_of_a_permutation_has_no_words_of_the_suite() -> None:
    permuted = msgspec.structs.replace(case(), id="batching/example@zstd", title="an example (zstd)")
    assert '"""An example.\n' in export(replay(permuted), OPTIONS, "example").script


def test_each_clause_stands_by_itself() -> None:
    told = replay(case())
    other = msgspec.structs.replace(told.breaches[0], clause="So must this, " + "word " * 30)
    script = export(msgspec.structs.replace(told, breaches=(*told.breaches, other)), OPTIONS, "example").script
    assert "\n- It must hold.\n- So must this," in script
    assert max(len(line) for line in script.partition("EXPECTED")[2].partition("def ")[0].splitlines()) <= 100


def test_process_that_was_lost_is_told_of_without_the_suite() -> None:
    told = replay(case(), ("robustness.calls-do-not-hang", "agent-lost"))
    breach = msgspec.structs.replace(
        told.breaches[0], sentence='agent x was killed by signal 11 while handling "send" #2. Full log: runs/agent.log'
    )
    script = export(msgspec.structs.replace(told, breaches=(breach,)), OPTIONS, "example").script
    assert "3.13.0:\n- the process that runs the client was killed by signal 11." in script
    assert "agent.log" not in script


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (replay(case(), client="pulsar-client-go"), "pulsar-client-go is exported to no language yet"),
        (replay(case(), ("batching.highest-sequence-id", "no-such-code")), "no script can tell this finding"),
        (replay(case(verb="stats")), "step 5, 'stats', has no stand-alone form"),
        (
            replay(case(Fault(trigger=AtTime(0), action=LimitData(limit_bytes=9)))),
            "a fault by toxiproxy has no stand-a",
        ),
        (replay(listening()), "a listener has no stand-alone form"),
        (replay(case(schema="string")), "a schema has no stand-alone form"),
        (replay(supplied()), "an application's own supplier of credentials has no stand-alone form"),
        (replay(case(router="by_number")), "an application's own router has no stand-alone form"),
    ],
)
def test_what_has_no_stand_alone_form_is_refused_in_one_sentence(told: Replay, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        export(told, OPTIONS, "example")


def test_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case())))
    assert _run(["export", str(file), "-o", str(tmp_path / "issue"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(told[key]).name for key in ("script", "plan")] == [
        "failure.py",
        "failure.faults.json",
    ]
    assert all(Path(written).exists() for written in told.values())


@pytest.mark.parametrize(
    ("file", "asked", "name"),
    [
        ("failure.json", ["--name", "for_issue-7"], "for_issue-7"),
        ("a 'b'; c.d.json", [], "a-b-c-d"),
        ("%.json", [], "failure"),
    ],
)
def test_name_is_as_asked_or_as_the_replay_file_without_what_a_shell_reads(
    tmp_path: Path, file: str, asked: list[str], name: str
) -> None:
    (tmp_path / file).write_bytes(msgspec.json.encode(replay(case())))
    assert _run(["export", str(tmp_path / file), "-o", str(tmp_path / "issue"), *asked]) == 0
    assert {path.name for path in (tmp_path / "issue").iterdir()} == {f"{name}.py", f"{name}.faults.json"}


@pytest.mark.parametrize("name", ["", "../x", "-x", "a b", "x.py"])
def test_name_that_is_no_plain_word_is_refused(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case())))
    assert _run(["export", str(file), "-o", str(tmp_path), f"--name={name}"]) == 2
    assert "--name: expected letters, digits, '-' and '_'" in capsys.readouterr().err


def test_command_says_what_it_cannot_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case(), ("batching.highest-sequence-id", "no-such-code"))))
    assert _run(["export", str(file)]) == 2
    assert "no script can tell this finding without the suite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("acme/fastpulsar", "name yours with --agent path/to/agent.toml"),
        ("agent.toml", "its client is in go, and scripts are written for clients in Python alone"),
    ],
)
def test_command_says_for_which_agents_it_exports(
    tmp_path: Path, agent: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, manifest = tmp_path / "failure.json", tmp_path / "agent.toml"
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(replay(case()), agent="acme/fastpulsar")))
    text = load_text().replace('language = "python"', 'language = "go"')
    manifest.write_text(text)
    options = ["--agent", str(manifest)] if agent == "agent.toml" else []
    assert _run(["export", str(file), "-o", str(tmp_path), *options]) == 2
    assert says in capsys.readouterr().err


def test_agent_at_a_path_gives_its_options_to_the_script(tmp_path: Path) -> None:
    file, manifest = tmp_path / "failure.json", tmp_path / "agent.toml"
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(replay(case()), agent="acme/fastpulsar")))
    manifest.write_text(load_text())
    assert _run(["export", str(file), "-o", str(tmp_path), "--agent", str(manifest)]) == 0
    assert (tmp_path / "failure.py").exists()


def load_text() -> str:
    """The agent.toml of the Python client."""
    return installed()["pulsar-python"].read_text("utf-8")


def _of_two(*findings: tuple[str, str]) -> Replay:
    told = [replay(case(), finding) for finding in findings]
    return msgspec.structs.replace(told[0], breaches=tuple(one.breaches[0] for one in told))


UNSEEN = ("batching.highest-sequence-id", "no-such-code")


def test_failure_whose_first_finding_no_script_can_see_is_refused() -> None:
    with pytest.raises(UsageError, match=r"without the suite: batching\.highest-sequence-id: no-such-code; expected"):
        export(_of_two(UNSEEN, KNOWN), OPTIONS, "example")


def test_command_says_which_further_findings_no_script_can_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(_of_two(KNOWN, UNSEEN)))
    assert _run(["export", str(file), "-o", str(tmp_path)]) == 0
    told = "assay: the Case also broke what no script can show without assay: "
    assert capsys.readouterr().err == f"{told}{': '.join(UNSEEN)}\n"


def _exported(tmp_path: Path, folder: Path) -> int:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case())))
    return _run(["export", str(file), "-o", str(folder)])


def test_another_failure_of_that_name_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "failure.faults.json"
    plan.write_text("another's")
    assert _exported(tmp_path, tmp_path) == 2
    assert f"{plan}: exists already" in capsys.readouterr().err
    assert not (tmp_path / "failure.py").exists()


def test_the_same_failure_is_exported_again(tmp_path: Path) -> None:
    assert [_exported(tmp_path, tmp_path), _exported(tmp_path, tmp_path)] == [0, 0]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert _exported(tmp_path, taken / "issue") == 2
    assert f"{taken / 'issue'}: cannot be written: Not a directory" in capsys.readouterr().err


def test_a_full_disk_names_the_file_and_leaves_no_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_names: object, **_folders: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    failure = tmp_path / "failure.json"
    failure.write_bytes(msgspec.json.encode(replay(case())))
    monkeypatch.setattr(os, "replace", full)
    assert _run(["export", str(failure), "-o", str(tmp_path / "issue")]) == 4
    assert "failure.py: cannot be written: No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "issue").iterdir()) == []


def test_a_fifo_of_that_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "failure.faults.json")
    assert _exported(tmp_path, tmp_path) == 2
    assert "failure.faults.json: is a FIFO" in capsys.readouterr().err
