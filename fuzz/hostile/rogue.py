"""An agent without a client, which misbehaves at one moment: `rogue.py PLAN`, a JSON file beside it.

It answers every verb at once as if all had gone well, so a run with it costs no more than starting a bare interpreter.
The plan says at which command it misbehaves (`verb`, the `nth` of its kind), which bytes it writes there (`raw`, in
base64, once or in place of the answer) and what it does as a process (`act`). Imports nothing but what Python brings.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

CAPABILITIES = ["producer", "consumer", "nack_delay", "ack_grouping", "batching"]
SLEEPER = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"]

Command = dict[str, Any]


def say(line: bytes) -> None:
    os.write(1, line + b"\n")


def event(name: str, **fields: object) -> bytes:
    return json.dumps({"event": name, "t_ns": time.monotonic_ns(), **fields}).encode()


def served(command: Command) -> None:
    op = command["id"]
    if command["verb"] == "hello":
        names = {"agent": "reference", "client": "assay-reference-client", "client_version": "0.1.0"}
        say(event("hello", id=op, schema="1.0", language="python", capabilities=CAPABILITIES, **names))
    elif command["verb"] == "receive":
        say(event("ok", id=op, count=0))
    else:
        for offset, _ in enumerate(command.get("messages", [None]) if command["verb"] == "send" else [None]):
            say(event("ok", id=op + offset))


def hold_output() -> None:
    """Let a grandchild in a separate session keep stdout open after the exit."""
    subprocess.Popen(SLEEPER, start_new_session=True)
    os._exit(4)


def leave_children() -> None:
    for _ in range(5):
        subprocess.Popen(SLEEPER, start_new_session=True, stdin=-3, stdout=-3, stderr=-3)


def leave_daemon() -> None:
    """Leave a daemon, forked twice, with a separate environment and session."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(3):
                os.close(number)
            os.execve(sys.executable, SLEEPER, {})
        os._exit(0)


def ignore_ends() -> None:
    """Ignore the end of stdin and SIGTERM."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def flood_stderr() -> None:
    for _ in range(400):
        os.write(2, b"E" * 65_536)


def flood_stdout() -> None:
    line = event("note", text="x" * 900)
    for _ in range(30_000):
        say(line)


def long_line() -> None:
    for _ in range(200):
        os.write(1, b"y" * 65_536)


ACTS = {
    "none": lambda: None,
    "close stdout": lambda: os.close(1),
    "close stdin": lambda: os.close(0),
    "exit 0": lambda: os._exit(0),
    "abort": os.abort,
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSTOP": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "SIGSTOP to the group": lambda: os.killpg(os.getpgid(0), signal.SIGSTOP),
    "hold the output": hold_output,
    "leave children": leave_children,
    "leave a daemon": leave_daemon,
    "ignore every end": ignore_ends,
    "flood stderr": flood_stderr,
    "flood stdout": flood_stdout,
    "one endless line": long_line,
}


def main() -> None:
    with open(sys.argv[1], "rb") as stream:
        plan = json.loads(stream.read())
    raw, seen = base64.b64decode(plan["raw"]), Counter[str]()
    if plan["verb"] == "start":
        say(raw)
        ACTS[plan["act"]]()
    for line in sys.stdin.buffer:
        command = json.loads(line)
        seen[command["verb"]] += 1
        if command["verb"] == plan["verb"] and seen[command["verb"]] == plan["nth"]:
            if raw:
                say(raw.replace(b"@ID@", str(command["id"]).encode()))
            ACTS[plan["act"]]()
            if plan["instead"]:
                continue
        served(command)
        if command["verb"] == "exit":
            return


if __name__ == "__main__":
    main()
