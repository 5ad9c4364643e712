"""Without a fault the proxy is not there: the same bytes, each way, cut anywhere, up to the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import scaled

from assay_conformance.model.event import Closed, ClosedBy, Undecodable
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.wire import CommandType, MessageMetadata, command, encode

NETWORKS = ["memory", "socket", "uvloop"]
SENDS = [
    encode(
        command(CommandType.SEND, producer_id=1, sequence_id=number),
        metadata=MessageMetadata(producer_name="p", sequence_id=number, publish_time=1),
        data=b"x" * size,
    )
    for number, size in enumerate((0, 10, 3_000))
]
PING, PONG = encode(command(CommandType.PING)), encode(command(CommandType.PONG))
WHOLE = st.sampled_from([*SENDS, PING, PONG])
# Frames that cannot be decoded, sizes that no frame has, and a frame that breaks off.
BROKEN = st.one_of(
    st.binary(min_size=4, max_size=40).map(lambda data: len(data).to_bytes(4, "big") + data),
    st.binary(min_size=1, max_size=40),
    WHOLE.map(lambda raw: raw[: len(raw) // 2]),
)


@dataclass
class Side:
    """What one side writes, in which pieces, and whether it half-closes after that before the other has ended."""

    data: bytes
    cuts: list[int]
    half_closes: bool

    def pieces(self) -> list[bytes]:
        ends = sorted({min(cut, len(self.data)) for cut in self.cuts} | {len(self.data)})
        return [self.data[start:end] for start, end in zip([0, *ends], ends, strict=False) if end > start]


SIDES = st.builds(
    Side,
    st.lists(st.one_of(WHOLE, BROKEN), max_size=6).map(b"".join),
    st.lists(st.integers(0, 4_000), max_size=12),
    st.booleans(),
)


async def _write(ear: Any, side: Side) -> None:
    for piece in side.pieces():
        ear.transport.write(piece)
        await asyncio.sleep(0)
    if side.half_closes:
        ear.transport.write_eof()


def _heard_all(side: Side) -> Callable[[Any], bool]:
    return lambda ear: ear.eof and ear.heard == side.data


@pytest.mark.parametrize("network", NETWORKS)
@settings(max_examples=scaled(60), deadline=None)
@given(client=SIDES, server=SIDES)
def test_bytes_and_half_closes_pass_as_they_came(tapped: Any, network: str, client: Side, server: Side) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        await asyncio.gather(_write(near, client), _write(far, server))
        if client.half_closes:
            await far.until(_heard_all(client))
        if server.half_closes:
            await near.until(_heard_all(server))
        # Who has not ended yet may still write; the rest of a frame that broke off leaves with the end.
        for ear, side in ((near, client), (far, server)):
            if not side.half_closes:
                ear.transport.write(PING)
                ear.transport.write_eof()
                side.data += PING
        await far.until(_heard_all(client))
        await near.until(_heard_all(server))
        assert not near.lost
        assert not far.lost
        near.transport.close()
        far.transport.close()
        await tap.until_closed()

    tapped(main, network)


@pytest.mark.parametrize("network", NETWORKS)
def test_side_that_half_closed_gets_its_answer(tapped: Any, network: str) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        near.transport.write(SENDS[1])
        near.transport.write_eof()
        await far.until(lambda ear: ear.eof)
        far.transport.write(PONG)
        await near.until(lambda ear: ear.heard == PONG)
        far.transport.close()
        await tap.until_closed()
        assert [(event.by, event.reset) for event in tap.of(Closed)] == [(ClosedBy.CLIENT, False)]

    tapped(main, network)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("resetting", [ClosedBy.CLIENT, ClosedBy.BROKER])
def test_reset_passes_as_a_reset_behind_the_bytes(tapped: Any, network: str, resetting: ClosedBy) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        sender, other = (near, far) if resetting is ClosedBy.CLIENT else (far, near)
        sender.transport.write(PING)
        await other.until(lambda ear: ear.heard == PING)
        tap.network.reset(sender.transport, abrupt=True)
        await other.until(lambda ear: bool(ear.lost))
        assert isinstance(other.lost[0], ConnectionResetError)
        assert [(event.by, event.reset) for event in tap.of(Closed)] == [(resetting, True)]

    tapped(main, network)


@pytest.mark.parametrize("network", NETWORKS)
def test_broker_that_is_away_is_a_reset(tapped: Any, network: str) -> None:
    async def main(tap: Any) -> None:
        tap.server.close()
        near = await tap.client()
        await near.until(lambda ear: bool(ear.lost))
        assert isinstance(near.lost[0], ConnectionResetError)
        assert [(event.by, event.reset) for event in tap.of(Closed)] == [(ClosedBy.BROKER, True)]

    tapped(main, network)


def test_what_cannot_be_read_is_written_down_and_passes(tapped: Any) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        odd = b"\x00\x00\x00\x05\xff\xff\xff\xff\xff"
        near.transport.write(PING + odd + PING)
        await far.until(lambda ear: ear.heard == PING + odd + PING)
        assert [event.reason for event in tap.of(Undecodable)]
        assert [event.command for event in tap.of(FrameEvent)] == ["PING", "PING"]

    tapped(main, "memory")


def test_stream_that_lost_its_frames_is_written_down_once(tapped: Any) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        nonsense = b"\xff\xff\xff\xff" + PING
        for piece in (PING, nonsense[:3], nonsense[3:], PING):
            near.transport.write(piece)
        await far.until(lambda ear: ear.heard == PING + nonsense + PING)
        assert len(tap.of(Undecodable)) == 1
        assert len(tap.of(FrameEvent)) == 1

    tapped(main, "memory")
