"""A script says 0 only where something was tried: without client, plan or fault it can tell nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from tests.reports.export.test_export import OPTIONS, case, replay

from assay_conformance.cases.build import down
from assay_conformance.model.fault import Drop, Fault
from assay_reports.export import export

CLIENT = """
__version__ = "0"


class LoggerLevel:
    Error = 0


class Result:
    Ok = "Ok"


class Timeout(Exception):
    pass


def ConsoleLogger(level):
    return None


class Producer:
    def producer_name(self):
        return "p"

    def send_async(self, data, done, **options):
        done(Result.Ok, None)


class Client:
    def __init__(self, url, logger):
        pass

    def create_producer(self, topic, batching_enabled, block_if_queue_full=False):
        return Producer()
"""
"""As much of a client as these scripts ask."""
UNKNOWING = CLIENT.replace("batching_enabled, block_if_queue_full=False", "other")
FIRED = {"kind": "fired", "fault": 0}
FRAME = {"kind": "frame", "command": "SEND", "dir": "c2b"}
LOST = Fault(trigger=down("SEND_RECEIPT"), action=Drop())
PLAN = {"topology": {"topics": [{"name": "t"}]}, "faults": 1}


@contextmanager
def broker(plan: object, *asked: list[Any]) -> Iterator[str]:
    """An admin interface that shows these events, the last ones from then on; its URL."""
    left = list(asked)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            events = self.path.endswith("events")
            told = (left.pop(0) if len(left) > 1 else left[0]) if events else plan
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def ran(
    folder: Path, client: str, plan: object, *events: list[Any], fault: Fault = LOST, clause: str = "It must hold."
) -> subprocess.CompletedProcess[str]:
    failure = replay(case(fault))
    breach = msgspec.structs.replace(failure.breaches[0], clause=clause)
    script = folder / "example.py"
    script.write_text(export(msgspec.structs.replace(failure, breaches=(breach,)), OPTIONS, "example").script)
    (folder / "pulsar.py").write_text(client)
    with broker(plan, *events) as url:
        return subprocess.run(
            [sys.executable, str(script), "pulsar://127.0.0.1:1", url],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )


def test_what_was_tried_and_not_seen_is_as_expected(tmp_path: Path) -> None:
    told = ran(tmp_path, CLIENT, PLAN, [], [FRAME, FIRED])
    assert (told.returncode, "saw       nothing else" in told.stdout) == (0, True), told.stdout + told.stderr


@pytest.mark.parametrize(
    ("plan", "events", "words"),
    [
        (
            {"topology": {"topics": []}, "faults": 1},
            [[], [FRAME]],
            "the broker was not started with the plan of this script",
        ),
        (PLAN, [[], [FRAME]], "fault 0 never acted"),
        (PLAN, [[FRAME], [FRAME, FIRED]], "the broker has served others before"),
    ],
)
def test_where_nothing_went_wrong_nothing_can_be_told(
    tmp_path: Path, plan: object, events: list[list[Any]], words: str
) -> None:
    told = ran(tmp_path, CLIENT, plan, *events)
    assert told.returncode == 2, told.stdout + told.stderr
    assert f"no result: {words}" in told.stdout
    assert f"start the broker afresh with --faults {tmp_path / 'example'}.faults.json" in told.stdout


def test_a_fault_that_may_stay_away_may(tmp_path: Path) -> None:
    optional = msgspec.structs.replace(LOST, optional=True)
    assert ran(tmp_path, CLIENT, PLAN, [], [FRAME], fault=optional).returncode == 0


def test_a_client_that_does_not_know_an_option_cannot_be_asked(tmp_path: Path) -> None:
    told = ran(tmp_path, UNKNOWING, PLAN, [], [FRAME, FIRED])
    assert told.returncode == 2
    assert "no result: this client does not take what it was asked: create_producer" in told.stdout


def test_without_the_client_a_sentence_says_so(tmp_path: Path) -> None:
    told = ran(tmp_path, "raise ImportError('no such library')", PLAN, [])
    assert (told.returncode, told.stderr) == (2, "")
    assert "pulsar-client is not installed, so there is no result: no such library" in told.stdout


def test_what_is_no_broker_is_told(tmp_path: Path) -> None:
    told = ran(tmp_path, CLIENT, PLAN, {"no": "events"})  # type: ignore[arg-type]
    assert told.returncode == 2


def test_a_terminal_is_not_obeyed(tmp_path: Path) -> None:
    told = ran(tmp_path, CLIENT, PLAN, [], [FRAME, FIRED], clause="It\x1b[2J must \u202ehold.")
    assert "expected\n- It\\x1b[2J must \\u202ehold.\n" in told.stdout
