"""A real client over sockets, sent from one broker to another, finds no way around the proxy."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from assay_conformance.model.event import Opened
from assay_conformance.model.verdict import Verdict
from assay_fixtures.certification import certify, prepare
from assay_fixtures.runner.folder import RunFolder, StoredRun

CASES = (
    "connection/one-redirect",
    "topics/repeated-moves",
    "topics/assigned-broker-rejects",
    "topics/assigned-broker",
)


def test_client_that_is_sent_elsewhere_stays_behind_the_proxy(proxied: Any, tmp_path: Path) -> None:
    site = proxied()
    plan = prepare("pulsar-python", wanted=CASES, site=site)
    result = asyncio.run(certify(plan, RunFolder.create(tmp_path / "run")))
    # On a machine that stands still what happened may be undecided: where the client went is known all the same.
    assert {judgement.verdict for judgement in result.judgements} <= {Verdict.PASS, Verdict.INCONCLUSIVE}
    stored = StoredRun(tmp_path / "run")
    opened = [
        event.broker
        for case in CASES
        for attempt in stored.attempts(case)
        for event in stored.history(case, attempt)
        if isinstance(event, Opened)
    ]
    assert opened.count(1) >= len(CASES)
    assert sum(world.reached for world in site.worlds) == len(opened)
    assert [trouble for world in site.worlds for trouble in world.proxy.troubles] == []
