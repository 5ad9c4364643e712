"""What every exported script ends with: what was expected, what it saw, and whether anything was tried at all.

Copied into the script behind the others, as it stands.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import pulsar

from assay_reports.export.calls import CALLS
from assay_reports.export.watching import ADMIN_URL, FAULTS, QUIET_S, ask

SHOWN = 100
OPENINGS = ("Client", "create_producer", "subscribe")
AS_EXPECTED, DEVIATION, NOTHING_TO_TELL = 0, 1, 2


def plain(text: object) -> str:
    """Without what a terminal would obey."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in str(text))


def unusable() -> str:
    """Why this client cannot be asked: it does not know an option."""
    wrong = [one for one in CALLS if one.what in OPENINGS and one.error.startswith("TypeError")]
    return f"this client does not take what it was asked: {wrong[0]}" if wrong else ""


def untried(before: list[Any], faults: tuple[int, ...], planned: int, topology: Any, name: str) -> str:
    """Why what was seen says nothing, where it was nothing: what should have gone wrong did not."""
    afresh = f"start the broker afresh with --faults {name}.faults.json"
    if ask("plan") != {"topology": topology, "faults": planned}:
        return f"the broker was not started with the plan of this script: {afresh}"
    if any(event["kind"] == "frame" for event in before):
        return f"the broker has served others before: {afresh}"
    fired = {event["fault"] for event in ask("events") if event["kind"] == "fired"}
    for number in faults:
        if FAULTS.get(number) not in fired:
            return f"fault {FAULTS.get(number, number)} never acted: {afresh}"
    return ""


def judged(expected: str, schedule: Callable[[], None], deviations: list[Callable[[], str]], **plan: Any) -> int:
    before = ask("events")
    schedule()
    time.sleep(QUIET_S)
    saw = dict.fromkeys(told for deviation in deviations if (told := deviation()))
    print(plain(f"pulsar-client {pulsar.__version__}"))
    for made in CALLS[:SHOWN]:
        print(f"  {plain(made)}")
    print(f"expected  {plain(expected)}")
    if reason := unusable() or ("" if saw else untried(before, **plan)):
        print(f"nothing can be told: {plain(reason)}")
        return NOTHING_TO_TELL
    for told in saw or ("nothing else",):
        print(f"saw       {plain(told)}")
    return DEVIATION if saw else AS_EXPECTED


def main(expected: str, schedule: Callable[[], None], deviations: list[Callable[[], str]], **plan: Any) -> None:
    """In a process of its own, so that a client that takes it down is told of as well.

    Exit code 0: as expected; 1: the deviation shows; 2: nothing can be told, for there is no broker, or no client, or
    what should have gone wrong did not.
    """
    if os.environ.get("EXPORTED_SCRIPT") != "inside":
        inside = subprocess.run([sys.executable, *sys.argv], env={**os.environ, "EXPORTED_SCRIPT": "inside"})
        if inside.returncode < 0:
            print(f"expected  {plain(expected)}\nsaw       the process was killed by signal {-inside.returncode}")
        sys.exit(DEVIATION if inside.returncode < 0 else inside.returncode)
    code = NOTHING_TO_TELL
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = judged(expected, schedule, deviations, **plan)
        sys.stdout.flush()
    except OSError as error:
        print(plain(f"no broker answers at {ADMIN_URL}, or it refused what it was asked: {error}"), flush=True)
    except Exception:
        traceback.print_exc()
    finally:
        # Without the library's own end: it may wait for ever for what was left undone.
        os._exit(code)
