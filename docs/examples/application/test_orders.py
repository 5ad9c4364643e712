"""Tests of the application beside it, with assay's broker, faults and client: `pytest docs/examples/application`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from assay_fixtures.light.pulsar import LightPulsar
from assay_fixtures.pytesting.agent import Agent
from assay_fixtures.pytesting.faults import Faults

INVOICES = [b"invoice for tea", b"invoice for cake", b"invoice for milk"]


def run_application(broker: LightPulsar, client: Agent) -> list[bytes]:
    """The invoices that the application writes for three orders."""
    client.send("orders", [b"tea", b"cake", b"milk", b"close"])
    program = Path(__file__).with_name("orders.py")
    subprocess.run([sys.executable, program, broker.service_url], check=True, timeout=60)
    return client.receive("invoices", 10, wait_s=0.5)


def test_every_order_has_its_invoice(assay_broker: LightPulsar, assay_agent: Agent) -> None:
    assert run_application(assay_broker, assay_agent) == INVOICES


def test_lost_receipt_costs_no_invoice(assay_broker: LightPulsar, assay_faults: Faults, assay_agent: Agent) -> None:
    # The broker stores the second invoice and says so, but the connection breaks under its word.
    assay_faults.cut("SEND_RECEIPT", before=True, sequence_id=1)
    # The client cannot know, and sends it again: twice is allowed here, never is not.
    assert set(run_application(assay_broker, assay_agent)) == set(INVOICES)
