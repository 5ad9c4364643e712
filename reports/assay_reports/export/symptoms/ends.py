"""What shows in how calls, or the client's process, end."""

from __future__ import annotations

import time

from assay_reports.export.runtime.calls import CALLS
from assay_reports.export.runtime.watching import finish


def robustness_calls_do_not_hang__operation_never_ended() -> str:
    for one in CALLS:
        one.ended.wait(max(0.0, one.called + 10.0 - time.monotonic()))
    stuck = [one for one in CALLS if one.over is None]
    return f"{len(stuck)} calls have not ended, the first is {stuck[0]}" if stuck else ""


def robustness_calls_do_not_hang__agent_lost() -> str:
    finish()
    return ""


def compression_absurd_size_not_trusted__died() -> str:
    finish()
    return ""
