"""`assay broker` as a process: it says where it is, serves, tells of faults, and ends when it is told to."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from tests.end_to_end.processes import listening, listening_of
from tests.end_to_end.running import command_line

from assay_conformance.wire import CommandType, Splitter, command, decode, encode

DEADLINE_S = 30
ANY_PORTS = ("--port", "0", "--http-port", "0")
REFUSED_ONCE = [{"trigger": {"when": "time", "at_ms": 0}, "action": {"do": "refuse", "connections": 1}}]


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The command and what it said about where it is."""
    process = subprocess.Popen(
        command_line("broker", *ANY_PORTS, "--json", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line("broker", *arguments), capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_it_serves_until_it_is_told_to_end(number: signal.Signals) -> None:
    with serving() as (process, where):
        with urlopen(f"{where['admin_url']}/admin/v2/clusters", timeout=DEADLINE_S) as answer:
            assert json.load(answer) == ["standalone"]
        sockets = listening_of(process.pid)
        process.send_signal(number)
        _, told = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, told) == (0, "")
        assert sockets
        assert not sockets & listening()


def test_a_connected_client_does_not_keep_it_from_ending() -> None:
    with serving() as (process, where):
        address = urlsplit(where["service_url"])
        with socket.create_connection((address.hostname, address.port), DEADLINE_S):
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE_S) == 0


def test_without_json_the_urls_are_for_people() -> None:
    process = subprocess.Popen(command_line("broker", *ANY_PORTS), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("service url  pulsar://127.0.0.1:")
        assert process.stdout.readline().startswith("admin url    http://127.0.0.1:")
    finally:
        process.kill()
        process.communicate()


def test_clients_may_be_told_another_name() -> None:
    with serving("--name", "broker.test") as (_, where):
        assert urlsplit(where["service_url"]).hostname == "broker.test"


def test_settings_of_a_broker_conf_hold(tmp_path: Path) -> None:
    path = tmp_path / "standalone.conf"
    path.write_text("maxMessageSize=1048576\nclusterName=mine\n")
    with serving("--conf", str(path)) as (process, where):
        assert process.stderr is not None
        assert process.stderr.readline().endswith("standalone.conf: 1 of its settings hold here, 1 change nothing\n")
        address = urlsplit(where["service_url"])
        with socket.create_connection((address.hostname, address.port), DEADLINE_S) as client:
            client.sendall(encode(command(CommandType.CONNECT, client_version="t", protocol_version=21)))
            (raw,) = Splitter(1024).feed(client.recv(1024))
            assert decode(raw).body.max_message_size == 1024 * 1024


def test_fault_of_the_file_acts_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(REFUSED_ONCE))
    with serving("--faults", str(path)) as (process, where):
        address = urlsplit(where["service_url"])
        with socket.create_connection((address.hostname, address.port), DEADLINE_S) as refused:
            assert refused.recv(1) == b""
        assert process.stderr is not None
        assert "fault 0: refuse" in process.stderr.readline()


def test_log_has_every_frame_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "frames.jsonl"
    with serving("--log", str(path)) as (_, where):
        address = urlsplit(where["service_url"])
        with socket.create_connection((address.hostname, address.port), DEADLINE_S) as client:
            client.sendall(encode(command(CommandType.CONNECT, client_version="t", protocol_version=21)))
            assert client.recv(1)
            lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("command") for line in lines if line.get("kind") == "frame"] == ["CONNECT", "CONNECTED"]


def test_log_that_the_disk_has_no_room_for_ends_it_with_one_sentence(tmp_path: Path) -> None:
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60))
from assay_fixtures.cli import main
main({["broker", *ANY_PORTS, "--json", "--log", str(tmp_path / "log")]!r})
"""
    program = [sys.executable, "-B", "-c", script]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = urlsplit(json.loads(process.stdout.readline())["service_url"])
        with socket.create_connection((address.hostname, address.port), DEADLINE_S):
            _, told = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, told.count("\n")) == (4, 1)
    assert told.startswith(f"assay: {tmp_path / 'log'}: cannot be written: ")


def test_disk_that_is_full_from_the_start_is_named_as_the_reason() -> None:
    told = run(*ANY_PORTS, "--log", "/dev/full")
    assert (told.returncode, told.stdout) == (4, "")
    assert told.stderr == "assay: /dev/full: cannot be written: No space left on device; what came before it is kept\n"


def test_taken_port_is_one_sentence_and_two() -> None:
    with serving() as (_, where):
        for option, url in (("--port", where["service_url"]), ("--http-port", where["admin_url"])):
            told = run(*ANY_PORTS, option, str(urlsplit(url).port))
            assert told.returncode == 2
            assert told.stderr.startswith(f"assay: cannot listen on 127.0.0.1:{urlsplit(url).port}: ")
            assert told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "70000"], "70000 is not in the range"),
        (["--host", ""], "--host"),
        (["--name", "a\nb"], "--name"),
        (["--host", "host.invalid"], "cannot listen on host.invalid:"),
        (["--log", "."], "is a directory"),
        (["--log", "nowhere/log.jsonl"], "nowhere/log.jsonl: there is no folder nowhere"),
        (["--name", ""], "expected what clients are to connect to"),
        (["--log", "/dev/null/log.jsonl"], "/dev/null/log.jsonl"),
        (["--conf", "none.conf"], "none.conf: cannot be read"),
        (["--faults", "none.json"], "none.json: cannot be read"),
        (["surplus"], "Got unexpected extra argument"),
    ],
)
def test_bad_arguments_are_told_and_two(arguments: list[str], sentence: str) -> None:
    told = run(*ANY_PORTS, *arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in told.stderr


@pytest.mark.parametrize(
    ("faults", "sentence"),
    [
        ("[", "ends in the middle of a JSON value"),
        ('[{"trigger": {"when": "step", "step": 1}, "action": {"do": "cut"}}]', "there are no steps here"),
        (
            '[{"trigger": {"when": "frame", "command": "NO", "direction": "c2b"}, "action": {"do": "drop"}}]',
            "fault 0: ",
        ),
    ],
)
def test_bad_faults_are_told_and_two(tmp_path: Path, faults: str, sentence: str) -> None:
    path = tmp_path / "faults.json"
    path.write_text(faults)
    told = run(*ANY_PORTS, "--faults", str(path))
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in told.stderr
    assert told.stderr.count("\n") == 1
