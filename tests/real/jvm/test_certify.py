"""A whole certification on real Pulsar: brokers found by their word, Cases in namespaces of their own, a run folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import uvloop

from assay_conformance.model.verdict import Verdict
from assay_fixtures.brokers.choice import BrokerOptions, site_of
from assay_fixtures.certification import Options, certify, prepare
from assay_fixtures.runner.folder import RunFolder, StoredRun

REQUIREMENT = "compression.interoperable-format"
"""Its Cases need no time and no settings: they say whether everything is joined together."""


def test_the_reference_client_keeps_on_a_node_what_it_keeps_on_the_embedded_broker(tmp_path: Path) -> None:
    plan = prepare("reference", site=site_of("jvm", BrokerOptions()), wanted=[REQUIREMENT])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(certify(plan, RunFolder.create(tmp_path / "run"), Options()))
    own = {judgement.case: judgement.verdict for judgement in result.judgements if judgement.requirement == REQUIREMENT}
    assert set(own.values()) == {Verdict.PASS}
    assert len(own) == len(plan.selection.run) > 1
    stored = StoredRun(tmp_path / "run")
    assert (stored.info.broker.kind, stored.info.broker.version) == ("jvm", "4.0.8")
    assert (tmp_path / "run" / "pulsar.log").exists()
