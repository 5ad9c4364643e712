"""The application under test: a small pulsar-client program that reads orders and writes an invoice for each.

It ends at the order `close`.
"""

from __future__ import annotations

import sys

import pulsar


def main(service_url: str) -> None:
    client = pulsar.Client(service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    orders = client.subscribe("orders", "billing", initial_position=pulsar.InitialPosition.Earliest)
    invoices = client.create_producer("invoices")
    while (order := orders.receive()).data() != b"close":
        invoices.send(b"invoice for " + order.data())
        # Only now: an order whose invoice was not stored comes again.
        orders.acknowledge(order)
    orders.acknowledge(order)
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
