"""A failure as two files for whoever mends the client: a script that needs nothing but the client, and a fault plan.

The script makes the calls of a replay file's Case, looks for the symptoms of its findings, and says what was expected
and what it saw. The first finding is what the file was kept for: without a symptom of that there is no script. The plan
is what `assay broker --faults` takes. What has no meaning outside of the suite is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from assay_conformance.model.errors import UsageError
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_reports.export.pieces import pieces
from assay_reports.export.script import CLIENT, Options, function_name, script
from assay_reports.export.steps import plan_of, planned, stand_alone
from assay_reports.replay import Breach, Replay

__all__ = ["Exported", "export"]


@dataclass(frozen=True, slots=True)
class Exported:
    script: str
    plan: str
    pieces: frozenset[str]
    """What the script has from `runtime`."""
    left_out: tuple[Breach, ...]
    """What else the Case broke, and the script does not look for: it has no symptom."""


def export(replay: Replay, options: Options, name: str) -> Exported:
    """Return the two files, to be called `name`.py and `name`.faults.json. UsageError says what cannot be exported."""
    if replay.client != CLIENT:
        raise UsageError(f"{replay.client} is exported to no language yet; expected a replay of {CLIENT}")
    if outside := means(replay.case) - {Means.FRAMES}:
        raise UsageError(
            f"a fault by {', '.join(sorted(outside))} has no stand-alone form, for the broker of a script has frames "
            "alone to act on; expected faults of frames, or the replay file itself on the issue: assay replay FILE"
        )
    first, left_out = replay.breaches[0], tuple(one for one in replay.breaches if function_name(one) not in pieces())
    if first in left_out:
        raise UsageError(
            f"no script can tell this finding without the suite: {first.requirement}: {first.code}; expected a symptom "
            "of it in assay_reports/export/symptoms, or the replay file itself on the issue: assay replay FILE"
        )
    shown = [breach for breach in replay.breaches if breach not in left_out]
    written = script(replay, shown, options, name)
    return Exported(script=written.text, plan=_plan(replay), pieces=written.pieces, left_out=left_out)


def _plan(replay: Replay) -> str:
    case = replay.case
    faults = [msgspec.to_builtins(stand_alone(case.faults[index])) for index in planned(case)]
    return json.dumps({**plan_of(case), "faults": faults}, indent=1) + "\n"
