"""What every table goes through: ids break where their words do, and no line ends in blanks."""

from __future__ import annotations

import io

import pytest
from rich.table import Table
from rich.text import Text

from assay_reports.terminal import Trimmed, folded, terminal

ID = "resend.receipt-ahead-closes-connection"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, [ID]),
        (len(ID), [ID]),
        (20, ["resend.receipt-", "ahead-closes-", "connection"]),
        (10, ["resend.", "receipt-", "ahead-", "closes-", "connection"]),
        (3, ["resend.", "receipt-", "ahead-", "closes-", "connection"]),
    ],
)
def test_id_breaks_behind_its_words(width: int, lines: list[str]) -> None:
    assert folded(ID, width).split("\n") == lines


def test_folded_case_id_reads_as_the_id() -> None:
    assert folded("resend/queue-order", 8).replace("\n", "") == "resend/queue-order"


def test_lines_of_a_table_end_where_their_text_ends() -> None:
    out = io.StringIO()
    table = Table("name", "word", box=None)
    table.add_row(Text("a", style="bold on red"), Text("long enough"))
    table.add_row(Text("b"), Text("short"))
    terminal(out, width=60).print(Trimmed(table))
    lines = out.getvalue().splitlines()
    assert [line.rstrip() for line in lines] == lines
    assert lines[1].split() == ["a", "long", "enough"]


def test_reader_that_has_gone_is_told_as_such() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        terminal(Gone(), width=60).print("hello")
