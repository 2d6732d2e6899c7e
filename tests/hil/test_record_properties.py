"""Every record of the protocol and of plans comes back from its bytes; any bytes of its length are one."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.format import records
from tigris_pio.format.params import PARAMS
from tigris_pio.format.record import Record
from tigris_pio.hil import protocol


def subclasses(record: type[Record]) -> Iterator[type[Record]]:
    """Those with fields, however they are derived."""
    for derived in record.__subclasses__():
        if "C_NAME" in vars(derived):
            yield derived
        yield from subclasses(derived)


RECORDS = sorted({record for record in subclasses(Record) if record.__module__.startswith("tigris_pio.")},
                 key=lambda record: record.__name__)  # fmt: skip
RANGES = {"uint8_t": (0, 255), "int8_t": (-128, 127), "uint16_t": (0, 65535), "int16_t": (-32768, 32767),
          "uint32_t": (0, 2**32 - 1), "int32_t": (-(2**31), 2**31 - 1)}  # fmt: skip


def values(record: type[Record]) -> st.SearchStrategy[Record]:
    """Records of any values that their fields hold."""
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for field in record.layout():
        if field.c_type == "char":
            # The last byte is always zero, and the padding is not part of the text.
            fields[field.name] = st.binary(max_size=field.count - 1).map(lambda text: text.rstrip(b"\0"))
            continue
        one: st.SearchStrategy[Any] = (
            st.floats(width=32, allow_nan=False) if field.c_type == "float" else st.integers(*RANGES[field.c_type])
        )
        fields[field.name] = one if field.count == 1 else st.tuples(*[one] * field.count)
    return st.builds(record, **fields)


def test_all_records_are_here() -> None:
    assert {protocol.Hello, records.Header, *PARAMS.values()} <= set(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@settings(max_examples=examples(3, 15))
@given(data=st.data())
def test_a_record_comes_back_from_its_bytes(record: type[Record], data: st.DataObject) -> None:
    value = data.draw(values(record))
    packed = value.pack()
    assert len(packed) == record.size()
    again = record.unpack(packed)
    assert again.pack() == packed
    for field in record.layout():
        got, want = getattr(again, field.name), getattr(value, field.name)
        assert (got.rstrip(b"\0") if field.c_type == "char" else got) == want
    record.unpack(data.draw(st.binary(min_size=record.size(), max_size=record.size())))
    with pytest.raises(struct.error):
        record.unpack(packed[:-1])
