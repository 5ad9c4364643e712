"""Runs commands of `assay` in forks of a process that has it imported: milliseconds each, for thousands of attacks.

Started by the interpreter of the environment under attack, which need not be the one of the fuzzer; so this file
imports nothing of the fuzzer. Orders come as JSON lines on stdin, results go as JSON lines to stdout.

Each command gets a supervisor between itself and the server: a child subreaper, which sees every process that the
command leaves, in whatever session, kills it and reports its command line.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import time
from typing import Any

PRELOADED = (
    "assay_fixtures.cli",
    "assay_fixtures.certification",
    "assay_fixtures.runner.run",
    "assay_fixtures.agents.check",
    "assay_fixtures.light.server",
    "assay_fixtures.brokers.embedded",
    "assay_conformance.checks.judge",
    "assay_conformance.cases",
    "assay_conformance.pulsar.cases",
    "assay_reports.report",
    "assay_reports.expectations",
    "hypothesis",
    "rich.table",
    "pyarrow.parquet",
    "pyarrow.csv",
)
GRACE_S = 3.0
"""How long what a command started has to be gone after it."""
MEMORY_CAP_KIB = 1_600 << 10
"""Where a command is killed, so that an attack on memory does not reach the machine."""
POLL_S = 0.02
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PR_SET_CHILD_SUBREAPER = 36

Order = dict[str, Any]


def main() -> None:
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    for line in sys.stdin:
        print(json.dumps(in_a_fork(json.loads(line))), file=answers, flush=True)


def in_a_fork(order: Order) -> dict[str, Any]:
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            os.write(write, json.dumps(supervised(order)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    result: dict[str, Any] = json.loads(text)
    return result


def supervised(order: Order) -> dict[str, Any]:
    """Run the order in a child; return the result once nothing of the child is left."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    # A signal that comes while the fork is not the command yet waits until it is: a process that was started the usual
    # way listens from its first line on.
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    if (target := os.fork()) == 0:
        become(order)
    killed_for, peak_kib, status = "", 0, None
    signals = sorted(order["signals"])
    while status is None:
        pid, ended, _ = os.wait4(target, os.WNOHANG)
        if pid:
            status = ended
            break
        peak_kib = max(peak_kib, rss_kib(target))
        after_s = time.monotonic() - began
        while signals and signals[0][0] <= after_s:
            os.kill(target, signals.pop(0)[1])
        if not killed_for and (after_s > order["time_s"] or peak_kib > MEMORY_CAP_KIB):
            killed_for = "memory" if peak_kib > MEMORY_CAP_KIB else "time"
            os.kill(target, signal.SIGKILL)
        time.sleep(POLL_S)
    wall_s = time.monotonic() - began
    return {
        "code": None if killed_for else os.waitstatus_to_exitcode(status),
        "killed_for": killed_for,
        "wall_s": wall_s,
        "peak_kib": peak_kib,
        "left": left_over(),
    }


def become(order: Order) -> None:
    """Turn into the command; never returns."""
    code = 70
    try:
        os.setsid()
        os.chdir(order["cwd"])
        os.environ.update(order["environment"])
        # The supervisor measures; this keeps a runaway from the machine between two looks.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        names = (os.devnull, order["out"], order["err"])
        for number, (state, name) in enumerate(zip(order["streams"], names, strict=True)):
            stand_in = os.open("/dev/full" if state == "full" else name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(stand_in, number)
        os.closerange(3, 4_096)
        if order["descriptors"] is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (order["descriptors"],) * 2)
        closed = [number for number, state in enumerate(order["streams"]) if state == "closed"]
        if closed or order["descriptors"] is not None:
            # Only a process that starts this way shows what the start makes of it.
            for number in closed:
                os.close(number)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
            os.execv(sys.executable, [sys.executable, "-c", _COMMAND, *order["arguments"]])
        sys.argv = ["assay", *order["arguments"]]
        sys.stdin = os.fdopen(0, "r", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("assay_fixtures.entry")._listen()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
        sys.modules["assay_fixtures.cli"].main(order["arguments"])
    except SystemExit as error:
        # What comes from here on meets this file, and no longer the command.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        code = error.code if isinstance(error.code, int) else 1 if error.code else 0
    except BaseException:
        import traceback

        with contextlib.suppress(Exception):
            traceback.print_exc()
        code = 71
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


_COMMAND = "from assay_fixtures.cli import main; main()"


def rss_kib(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as stream:
            return int(stream.read().split()[1]) * (resource.getpagesize() >> 10)
    except (OSError, IndexError):
        return 0


def left_over() -> list[str]:
    """Wait until what the command started has ended; command lines of what has not, which is killed."""
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        reap()
        if not children():
            return []
        time.sleep(POLL_S)
    left = [command_line(pid) for pid in children() if is_alive(pid)]
    while pids := children():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()
        time.sleep(POLL_S)
    return left


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def children() -> list[int]:
    """Return our children, of any of our threads; grandchildren become ours as their parents end."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return stream.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()[:200]
    except OSError:
        return "gone"


if __name__ == "__main__":
    main()
