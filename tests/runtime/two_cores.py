"""Tools to test split operators: halves that run in the wrong order, and plans that split every operator."""

import dataclasses

from tests.runtime.plan_builder import changed
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.two_cores import split_steps
from tigris_pio.format.enums import OpFlag
from tigris_pio.format.records import Header, OpRecord
from tigris_pio.host import library


class Turned:
    """The second half runs before the first: what the halves have in common comes to light."""

    def __init__(self) -> None:
        self.calls = 0
        self.hook = library.ParallelHook(self._one_after_the_other)

    def _one_after_the_other(self, _: int | None, work: int, argument: int) -> None:
        for worker in (1, 0):
            library.Work(work)(argument, worker)
        self.calls += 1

    def close(self) -> None:
        """Nothing to end."""


def marked(plan: bytes) -> bytes:
    """The plan with every operator marked, whatever it is."""
    header = Header.unpack(plan)
    for index in range(header.op_count):
        plan = changed(plan, OpRecord, index, flags=OpFlag.SPLIT)
    return plan


def all_split(compiled: Compiled) -> bytes:
    """The plan with all operators marked that may be, however few instructions they take."""
    plan = dataclasses.replace(compiled.plan, split=split_steps(compiled.plan, 0))
    return write_plan(plan, xip=False)
