"""Pulsar's own admin client ends each of its calls on the light Pulsar, as it does on a node of Pulsar."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.light import LightPulsar

SOURCE = Path(__file__).with_name("AdminClient.java")
WITHIN_S = 120.0
REFUSED = {"clusters.getPeerClusters", "topics.setShadowTopics"}
"""Calls that are not served."""
ANSWERS = {
    "namespaces.createNamespace": "3",
    "topics.createNonPartitionedTopic": "{a=b}",
    "topics.peekMessages": "k 5 p 0 {a=b}",
    "topics.getInternalStats": "1",
    "brokers.getLeaderBroker": "true",
    "brokers.getInternalConfigurationData": "/ledgers",
    "topicPolicies.getMaxUnackedMessagesOnConsumer": "50000",
    "namespaces.getNamespaceReplicationClusters": "[standalone]",
}
"""What a node of Pulsar 4.0.8 answers."""


def outcomes(pulsar: Pulsar, service_url: str, admin_url: str) -> dict[str, list[str]]:
    """By call: `done` and its answer, or a status and its sentence."""
    command = [str(pulsar.java.program), "-cp", f"{pulsar.home}/lib/*", str(SOURCE), service_url, admin_url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=WITHIN_S)
    lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    return {name: rest for name, *rest in lines}


@pytest.mark.one_in(2)
def test_each_call_of_the_java_admin_client_ends(pulsar: Pulsar) -> None:
    with LightPulsar() as broker:
        told = outcomes(pulsar, broker.service_url, broker.admin_url)
    assert {name for name, (what, *_) in told.items() if what != "done"} == REFUSED
    assert {told[name][0] for name in REFUSED} == {"501"}
    assert {name: told[name][1] for name in ANSWERS} == ANSWERS
