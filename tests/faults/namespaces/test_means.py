"""What stands together, and what a machine has to have for it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from assay_conformance.model.direction import Direction
from assay_conformance.model.errors import UnavailableError, UsageError
from assay_conformance.model.fault import AtTime, Fault, Scope
from assay_conformance.model.outside import Partition, Shape
from assay_faults.namespaces import devices
from assay_faults.namespaces.injector import NamespaceInjector, in_force
from assay_faults.namespaces.netem import UNSHAPED

UP, DOWN = Direction.TO_BROKER, Direction.TO_CLIENT
SLOW, LOSSY = Shape(delay_ms=5), Shape(loss=0.1, direction=UP)


def test_nothing_stands_without_faults() -> None:
    assert in_force([], UP) == (UNSHAPED, False)


def test_the_last_shape_of_a_direction_stands() -> None:
    assert in_force([SLOW, LOSSY], UP) == (LOSSY, False)
    assert in_force([SLOW, LOSSY], DOWN) == (SLOW, False)


def test_a_partition_stands_beside_a_shape() -> None:
    assert in_force([Partition(direction=DOWN), SLOW], DOWN) == (SLOW, True)
    assert in_force([Partition(direction=DOWN), SLOW], UP) == (SLOW, False)


def test_packets_know_no_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "lacking", lambda: "")
    of_a_topic = Fault(trigger=AtTime(0), action=SLOW, scope=Scope(topic="t"))
    with pytest.raises(UsageError, match="expected a scope of a broker alone"):
        asyncio.run(NamespaceInjector().prepare({0: of_a_topic}))


def test_what_is_lacking_makes_them_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "lacking", lambda: "there is no /dev/net/tun")
    with pytest.raises(UnavailableError, match="no network namespaces: there is no /dev/net/tun"):
        asyncio.run(NamespaceInjector().prepare({}))


def test_a_process_without_privileges_is_told_so() -> None:
    # Root may have been given all of them; setpriv, of util-linux, takes them away.
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    asked = "from assay_faults.namespaces.devices import lacking; print(lacking())"
    told = subprocess.run([*dropped, sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert "expected" in told
