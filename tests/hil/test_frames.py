"""Frames survive whatever surrounds them, and nothing damaged passes for a frame."""

from __future__ import annotations

import zlib

from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.hil.frames import LOG_BYTES, NOISE_BYTES, Frame, FrameReader, encode
from tigris_pio.hil.protocol import PAYLOAD_BYTES, FrameHeader

frames = st.builds(
    Frame, st.integers(0, 255), st.integers(0, 255), st.integers(0, 65535), st.binary(max_size=3 * PAYLOAD_BYTES)
)
text = st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"?"))


def test_bytes_of_a_known_frame() -> None:
    header = b"\x04\x07\x34\x12\x02\x00\x00\x00"
    checksum = zlib.crc32(header + b"\x00\xaa").to_bytes(4, "little")
    assert 0 not in checksum
    coded = b"\x06\x04\x07\x34\x12\x02\x01\x01\x01\x06\xaa" + checksum
    assert encode(Frame(4, 7, 0x1234, b"\x00\xaa")) == b"\0" + coded + b"\0"


@settings(max_examples=examples(30, 100))
@given(st.lists(st.tuples(text, frames), max_size=6), text, st.data())
def test_frames_are_found_between_noise_in_any_pieces(
    parts: list[tuple[bytes, Frame]], tail: bytes, data: st.DataObject
) -> None:
    stream = b"".join(noise + encode(frame) for noise, frame in parts) + tail
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, found = FrameReader(), []
    for first, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[first:end])
    assert found == [frame for _, frame in parts]
    assert reader.unread() == b"".join(noise for noise, _ in parts) + tail


@settings(max_examples=examples(30, 100))
@given(frames, st.data())
def test_a_changed_byte_and_lost_bytes_lose_this_frame_only(frame: Frame, data: st.DataObject) -> None:
    wire, after = encode(frame), Frame(1, 2, 3, b"next")
    first = data.draw(st.integers(1, len(wire) - 2))
    changed = bytearray(wire)
    changed[first] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(first + 1, len(wire) - 1))
    for damaged in (bytes(changed), wire[:first] + wire[end:]):
        assert FrameReader().feed(damaged + encode(after)) == [after]


def test_a_length_that_contradicts_the_payload_is_no_frame() -> None:
    for length, frames in ((5, []), (4, [Frame(1, 2, 3, b"four")])):
        body = FrameHeader(1, 2, 3, length).pack() + b"four"
        coded = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little"))
        assert FrameReader().feed(b"\0" + coded + b"\0") == frames


def test_endless_noise_takes_no_endless_memory() -> None:
    reader = FrameReader()
    for _ in range(200):
        reader.feed(b"x" * 10_000)
    assert len(reader.unread()) <= NOISE_BYTES
    assert reader.feed(encode(Frame(1, 2, 3))) == [Frame(1, 2, 3)]
    assert reader.noise_bytes == 2_000_000


def test_the_log_has_what_was_printed_last() -> None:
    reader = FrameReader()
    for line in range(20_000):
        reader.feed(f"line {line}\r\n".encode() + encode(Frame(1, 2, 3)))
    assert "".join(f"line {line}\n" for line in range(20_000)).endswith(reader.log())
    assert 0.9 * LOG_BYTES < len(reader.log()) <= LOG_BYTES
    reader.feed(b"and no end")
    assert reader.log().endswith("line 19999\nand no end")
