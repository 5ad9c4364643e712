"""What was expected, what the script saw, and whether anything was tried at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import pulsar

from assay_reports.export.runtime.calls import CALLS, HANDLES
from assay_reports.export.runtime.watching import ADMIN_URL, ask

AS_EXPECTED, DEVIATION, NOTHING_TO_TELL = 0, 1, 2


def tell(text: object) -> None:
    """Print the text without characters that a terminal would obey."""
    print("".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in str(text)), flush=True)


def nothing_to_tell(before: list[Any], plan: Any, must_act: list[int]) -> str:
    """Return why it says nothing that nothing was seen: what should go wrong did not."""
    fired = {event["fault"] for event in ask("events") if event["kind"] == "fired"}
    reasons = {
        "the broker was not started with the plan of this script": ask("plan") != plan,
        "the broker has served others before": any(event["kind"] == "frame" for event in before),
        **{f"fault {number} never acted": number not in fired for number in must_act},
    }
    afresh = f"start the broker afresh with --faults {sys.argv[0].removesuffix('.py')}.faults.json"
    return next((f"{reason}: {afresh}" for reason, holds in reasons.items() if holds), "")


def judged(schedule: Callable[[], None], symptoms: list[Callable[[], str]], plan: Any, must_act: list[int]) -> int:
    before = ask("events")
    schedule()
    time.sleep(1)
    saw = [sentence for symptom in symptoms if (sentence := symptom())]
    for made in CALLS[:100]:
        tell(f"  {made}")
    unusable = [one.opening for one in HANDLES if one.opening.error.startswith("TypeError")]
    reason = f"this client does not take what it was asked: {unusable[0]}" if unusable else ""
    if reason := reason or ("" if saw else nothing_to_tell(before, plan, must_act)):
        tell(f"no result: {reason}")
        return NOTHING_TO_TELL
    for sentence in dict.fromkeys(saw or ["nothing else"]):
        tell(f"saw       {sentence}")
    return DEVIATION if saw else AS_EXPECTED


def main(expected: str, *asked: Any, **plan: Any) -> None:
    """Run in a process of its own, so that a client that kills it is reported as well."""
    if "EXPORTED_SCRIPT" not in os.environ:
        tell(f"pulsar-client {pulsar.__version__}\nexpected{expected}")
        inside = {**os.environ, "EXPORTED_SCRIPT": "inside", "PYTHONIOENCODING": ":backslashreplace"}
        code = subprocess.run([sys.executable, *sys.argv], env=inside).returncode
        if code < 0:
            tell(f"saw       the process was killed by signal {-code}")
        sys.exit(DEVIATION if code < 0 else code)
    code = NOTHING_TO_TELL
    try:
        code = judged(*asked, **plan)
    except OSError as error:
        tell(f"no broker answers at {ADMIN_URL}, or it refused what it was asked: {error}")
    except Exception:
        traceback.print_exc()
    finally:
        # Without the library's own end: it may wait for ever for what was left undone.
        os._exit(code)
