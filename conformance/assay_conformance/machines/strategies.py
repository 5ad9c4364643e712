"""Strategies and the rule-based machine that write lives of a producer. They only draw: nothing here touches a client.

The strategy draws a list of opcodes; the machine draws the same opcodes as rules, one at a time, and hands over the
Case in its teardown. Both go through `life.case_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from assay_conformance.machines.life import Aim, Contract, Opcode, Verb, case_of
from assay_conformance.model.case import Case
from assay_conformance.model.requirement import RequirementId

sends = st.builds(Opcode, st.just(Verb.SEND), st.integers(1, 4))
calls = st.sampled_from([Verb.FLUSH, Verb.SETTLE, Verb.CLOSE, Verb.REOPEN, Verb.UNLOAD]).map(Opcode)
# A fault is worth drawing only if a life is likely to reach its frame: traffic before registrations, early before late.
traffic = st.sampled_from([Aim.SEND, Aim.SEND_RECEIPT])
reached = st.integers(1, 4)
cuts = st.one_of(
    st.builds(Opcode, st.just(Verb.CUT), st.just(1), traffic, reached, st.booleans()),
    st.builds(Opcode, st.just(Verb.CUT), st.just(1), st.sampled_from(Aim), st.integers(1, 2), st.booleans()),
)
holds = st.builds(Opcode, st.just(Verb.HOLD), st.integers(1, 8), traffic, reached)
# Only what a broker may fail to say is dropped: a SEND lost between two that arrive is no network's doing.
drops = st.builds(Opcode, st.just(Verb.DROP), st.just(1), st.just(Aim.SEND_RECEIPT), reached)
faults = st.one_of(cuts, holds, drops)
# A scene is a call, or a fault together with traffic that may run into it.
scenes = st.one_of(st.tuples(sends), st.tuples(calls), st.tuples(faults, sends), st.tuples(sends, faults, sends))
contracts = st.builds(Contract, st.booleans(), st.booleans())


def producer_lives(requirements: tuple[RequirementId, ...]) -> st.SearchStrategy[Case]:
    """Cases from lists of opcodes. Their ids say nothing: the plan numbers them."""
    return st.builds(
        lambda acts, contract: case_of(chain.from_iterable(acts), contract, requirements, "life"),
        st.lists(scenes),
        contracts,
    )


class ProducerLife(RuleBasedStateMachine):
    """The same lives, one rule an opcode. Set `hand_over` and `requirements` on a subclass; see `machine`."""

    requirements: tuple[RequirementId, ...] = ()
    hand_over: Callable[[Case], None]

    def __init__(self) -> None:
        super().__init__()
        self._codes: list[Opcode] = []
        self._contract = Contract()

    @initialize(contract=contracts)
    def agree(self, contract: Contract) -> None:
        self._contract = contract

    @rule(code=sends)
    def send(self, code: Opcode) -> None:
        self._codes.append(code)

    @rule(code=calls)
    def call(self, code: Opcode) -> None:
        self._codes.append(code)

    @rule(code=cuts)
    def cut(self, code: Opcode) -> None:
        self._codes.append(code)

    @rule(code=holds)
    def hold(self, code: Opcode) -> None:
        self._codes.append(code)

    @rule(code=drops)
    def drop(self, code: Opcode) -> None:
        self._codes.append(code)

    def teardown(self) -> None:
        type(self).hand_over(case_of(self._codes, self._contract, self.requirements, "machine"))


def machine(requirements: tuple[RequirementId, ...], hand_over: Callable[[Case], None]) -> type[ProducerLife]:
    """A machine that hands every finished life to `hand_over`."""
    return type(
        "BoundProducerLife", (ProducerLife,), {"requirements": requirements, "hand_over": staticmethod(hand_over)}
    )
