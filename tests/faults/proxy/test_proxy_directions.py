"""A client that is sent to a broker nobody named is sent to an address of ours all the same, or nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.model.event import Closed, ClosedBy, Opened
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.wire import CommandType, Frame, command, decode, encode
from assay_conformance.wire.service_urls import TLS_SCHEME

NONSENSE = b"\xff\xff\xff\xff no frame"
PING, PONG = encode(command(CommandType.PING)), encode(command(CommandType.PONG))


def _answer(url: str, request_id: int = 1) -> bytes:
    fields = {"request_id": request_id, "response": 1, "brokerServiceUrl": url}
    return encode(command(CommandType.LOOKUP_RESPONSE, **fields))


async def _frames(ear: Any, count: int) -> list[Frame]:
    def cut() -> list[bytes]:
        heard, frames = bytes(ear.heard), []
        while heard:
            end = 4 + int.from_bytes(heard[:4], "big")
            frames.append(heard[:end])
            heard = heard[end:]
        return frames

    await ear.until(lambda _ear: len(cut()) == count)
    return [decode(raw) for raw in cut()]


@pytest.mark.parametrize("network", ["memory", "socket", "uvloop"])
def test_broker_that_nobody_named_gets_an_address(tapped: Any, network: str) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        other = await tap.network.listen(tap.accept)
        far.transport.write(_answer(other.url) + PING + _answer(other.url, 2))
        first, ping, second = await _frames(near, 3)
        assert first.body.brokerServiceUrl == second.body.brokerServiceUrl == tap.proxy.urls[1] != other.url
        assert ping.raw == PING
        again, there = await tap.connect(broker=1)
        again.transport.write(PONG)
        await there.until(lambda ear: ear.heard == PONG)
        assert [event.broker for event in tap.of(Opened)] == [0, 1]
        other.close()

    tapped(main, network)


@pytest.mark.parametrize("network", ["memory", "socket", "uvloop"])
def test_client_that_is_passed_on_is_written_down_in_its_words_and_told_in_the_brokers(
    tapped: Any, network: str
) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        said = tap.proxy.urls[0].partition("://")[2]
        near.transport.write(encode(command(CommandType.CONNECT, client_version="c", proxy_to_broker_url=said)))
        (passed,) = await _frames(far, 1)
        assert passed.body.proxy_to_broker_url == tap.server.url.partition("://")[2] != said
        tap.proxy.wake()
        (seen,) = [event for event in tap.of(FrameEvent) if event.command == "CONNECT"]
        assert seen.fields["proxy_to_broker_url"] == said

    tapped(main, network)


def test_what_comes_behind_an_address_that_is_being_opened_stays_behind_it(tapped: Any) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        far.transport.write(_answer("pulsar://one.example") + PING)
        far.transport.write(_answer("pulsar://two.example") + PONG + NONSENSE)
        far.transport.close()
        await near.until(lambda ear: ear.eof)
        assert near.heard.endswith(NONSENSE)
        del near.heard[-len(NONSENSE) :]
        frames = await _frames(near, 4)
        assert [frame.type for frame in frames] == [
            CommandType.LOOKUP_RESPONSE,
            CommandType.PING,
            CommandType.LOOKUP_RESPONSE,
            CommandType.PONG,
        ]
        assert [frame.body.brokerServiceUrl for frame in (frames[0], frames[2])] == tap.proxy.urls[1:]

    tapped(main, "memory")


@pytest.mark.parametrize("url", ["http://broker.example:8080", f"{TLS_SCHEME}://", "pulsar://a:6650,b:6650"])
def test_address_that_nobody_can_stand_for_ends_the_connection_and_is_told(tapped: Any, url: str) -> None:
    async def main(tap: Any) -> None:
        near, far = await tap.connect()
        far.transport.write(_answer(url))
        await near.until(lambda ear: bool(ear.lost))
        await far.until(lambda ear: ear.eof)
        assert [str(trouble) for trouble in tap.proxy.troubles] == [
            f"a broker sends clients to {url!r}: expected pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, one broker"
        ]
        assert tap.of(FrameEvent) == []
        assert [event.by for event in tap.of(Closed)] == [ClosedBy.FAULT]

    tapped(main, "memory")
