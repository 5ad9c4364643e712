"""After a cut nothing passes, also of what came along with the frame that was cut at."""

from __future__ import annotations

import asyncio

import pytest
from tests.faults.proxy.conftest import Tap

from assay_conformance.model.fault import Cut, Direction, Fault, OnFrame
from assay_conformance.wire import CommandType, command, encode
from assay_faults.network import MemoryNetwork, SocketNetwork

AT_SECOND_RECEIPT = Fault(
    trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT, k=2), action=Cut(before=True)
)


class SlowNetwork(SocketNetwork):
    """A reset takes its time, as where bytes wait to leave."""

    def reset(self, transport: asyncio.Transport, *, abrupt: bool) -> None:
        asyncio.get_running_loop().call_later(0.05, lambda: SocketNetwork.reset(self, transport, abrupt=abrupt))


def receipt(number: int) -> bytes:
    id = {"ledgerId": 1, "entryId": number}
    return encode(command(CommandType.SEND_RECEIPT, producer_id=1, sequence_id=number, message_id=id))


def test_frames_that_came_with_the_cut_one_stay_behind_it() -> None:
    async def main() -> None:
        tap = Tap(SlowNetwork(), [AT_SECOND_RECEIPT])
        await tap.start()
        near, far = await tap.connect()
        far.transport.write(b"".join(map(receipt, range(3))))
        await near.until(lambda ear: bool(ear.lost))
        assert bytes(near.heard) == receipt(0)
        tap.proxy.close()
        tap.server.close()

    asyncio.run(main())


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_frame_that_passed_in_front_of_a_reset_has_arrived(abrupt: bool) -> None:
    fault = Fault(trigger=OnFrame(command="ACK", direction=Direction.TO_BROKER), action=Cut(abrupt=abrupt))
    ack = encode(command(CommandType.ACK, consumer_id=1, ack_type=0))

    async def main() -> None:
        tap = Tap(MemoryNetwork(), [fault])
        await tap.start()
        near, far = await tap.connect()
        near.transport.write(ack)
        await far.until(lambda ear: ear.eof or bool(ear.lost))
        assert bytes(far.heard) == ack
        tap.proxy.close()
        tap.server.close()

    asyncio.run(main())
