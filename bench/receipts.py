"""Which faults really fired on which broker: `python bench/receipts.py RUN...`, a Markdown table.

One row an action, one column a kind of broker, in it the receipts (`Fired` events) of all attempts in the stored runs.
An action of the model that no Case fired stands there with a dash: nothing is known of it.
"""

from __future__ import annotations

import argparse
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay_conformance.model import fault
from assay_conformance.model.event import Fired
from assay_conformance.model.outside import MEANS, Means
from assay_fixtures.runner.folder import StoredRun

Receipts = Counter[tuple[str, str]]
"""By action and kind of broker."""


def actions() -> dict[str, str]:
    """Return every action of the model with its means."""
    kinds = typing.get_args(fault.Action)
    return {str(kind.__struct_config__.tag): MEANS.get(kind, Means.FRAMES).value for kind in kinds}


def counted(runs: Iterable[StoredRun]) -> Receipts:
    found: Receipts = Counter()
    for run in runs:
        for case in run.plan:
            for attempt in run.attempts(case):
                fired = (event for event in run.history(case, attempt) if isinstance(event, Fired))
                found.update((event.action, run.info.broker.kind) for event in fired)
    return found


def table(found: Receipts) -> Iterator[str]:
    brokers = sorted({broker for _, broker in found})
    yield f"| means | fault | {' | '.join(brokers)} |"
    yield "|---" * (2 + len(brokers)) + "|"
    for action, means in actions().items():
        cells = (str(found[action, broker] or "-") for broker in brokers)
        yield f"| {means} | {action} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+", help="the folder of a run")
    paths = parser.parse_args(arguments).run
    print("\n".join(table(counted(StoredRun(path) for path in paths))))


if __name__ == "__main__":
    main()
