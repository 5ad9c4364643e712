"""One end of a connection: what is written to one that has gone is nobody's trouble."""

from __future__ import annotations

import asyncio

import pytest

from assay_faults.network import SocketNetwork
from assay_faults.stream import FrameStream


class Stream(FrameStream):
    def __init__(self) -> None:
        super().__init__(SocketNetwork(), 100, lambda error: pytest.fail(str(error)))

    def made(self) -> None: ...


class Reset(asyncio.Transport):
    """Its handle is closed, and the protocol has yet to be told."""

    def is_closing(self) -> bool:
        return True

    def write(self, _data: object) -> None:
        raise RuntimeError("the handler is closed")


def test_a_piece_for_a_connection_that_was_reset_is_lost() -> None:
    stream = Stream()
    stream.connection_made(Reset())
    stream.write_piece(b"a frame")


def test_what_was_gathered_for_a_connection_that_was_reset_is_lost() -> None:
    async def main() -> None:
        stream = Stream()
        stream.connection_made(Reset())
        stream.write(b"a frame")
        stream.flush()

    asyncio.run(main())
