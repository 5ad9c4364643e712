"""Some tens of random scripts on a node of real Pulsar; `fuzz/brokers.py` is the long form."""

from __future__ import annotations

import asyncio
from pathlib import Path

from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest
from assay_fixtures.differential.campaign import Campaign, Disagreement, Figures
from assay_fixtures.differential.generator import generate
from assay_fixtures.differential.node import node
from assay_fixtures.differential.real import RealParty

SCRIPTS = 40


async def play(pulsar: Pulsar, folder: Path, ledger: CleanupJournal, told: list[Disagreement]) -> Figures:
    async with node(pulsar, folder, ledger) as started:
        admin = Admin(Rest([started.admin_url]))
        try:
            campaign = Campaign(lambda namespace: RealParty(started.service_url, admin, namespace), "test")
            return await campaign.play([generate(5, number) for number in range(SCRIPTS)], told.append)
        finally:
            await admin.close()


def test_embedded_broker_answers_and_stores_as_the_real_one(
    pulsar: Pulsar, tmp_path: Path, ledger: CleanupJournal
) -> None:
    told: list[Disagreement] = []
    figures = asyncio.run(play(pulsar, tmp_path, ledger, told))
    assert (told, figures.scripts) == ([], SCRIPTS)
