"""Tests of the application beside it, with assay's broker, faults and client: `pytest docs/examples/application`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_fixtures.light.pulsar import LightPulsar
from assay_fixtures.pytesting.agent import Agent
from assay_fixtures.pytesting.faults import Faults

ORDERS = [b"tea", b"cake", b"milk"]
STARTED: list[subprocess.Popen[bytes]] = []


def start_application(broker: LightPulsar) -> subprocess.Popen[bytes]:
    """Start the application with the broker's address, as in production."""
    program = Path(__file__).with_name("orders.py")
    application = subprocess.Popen([sys.executable, program, broker.service_url])
    STARTED.append(application)
    return application


@pytest.fixture(autouse=True)
def no_application_is_left() -> Iterator[None]:
    """Kill an application that a failed test has not waited for: it would run on."""
    yield
    while STARTED:
        STARTED[-1].kill()
        STARTED.pop().wait()


def orders_without_invoice(client: Agent) -> list[bytes]:
    """Return the orders for which the application has written no invoice."""
    invoices = client.receive("invoices", 10, wait_s=0.5)
    return [order for order in ORDERS if b"invoice for " + order not in invoices]


def test_every_order_has_its_invoice(assay_broker: LightPulsar, assay_agent: Agent) -> None:
    assay_agent.send("orders", [*ORDERS, b"close"])
    assert start_application(assay_broker).wait(60) == 0
    assert orders_without_invoice(assay_agent) == []


def test_lost_receipt_costs_no_invoice(assay_broker: LightPulsar, assay_faults: Faults, assay_agent: Agent) -> None:
    assay_agent.send("orders", [*ORDERS, b"close"])
    # The broker stores the second invoice, but the connection breaks before its receipt reaches the application.
    assay_faults.cut("SEND_RECEIPT", before=True, topic="invoices", sequence_id=1)
    assert start_application(assay_broker).wait(60) == 0
    # The client cannot know that it was stored, and sends it again: an invoice may come twice, but none may be missing.
    assert orders_without_invoice(assay_agent) == []


def test_killed_application_loses_no_order(assay_broker: LightPulsar, assay_faults: Faults, assay_agent: Agent) -> None:
    assay_agent.send("orders", [*ORDERS, b"close"])
    # The second invoice never reaches the broker, and the application is killed while it waits for the receipt.
    lost = assay_faults.drop("SEND", topic="invoices", sequence_id=1)
    application = start_application(assay_broker)
    lost.wait(60)
    # Clients collect acknowledgements for 100 ms. One that the application made too early reaches the broker by then.
    time.sleep(1)
    application.kill()
    application.wait()
    # Started again, it gets the orders that it has not acknowledged.
    assert start_application(assay_broker).wait(60) == 0
    assert orders_without_invoice(assay_agent) == []
