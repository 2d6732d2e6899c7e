"""Writes `runtime/include/tigris_protocol.h` from the messages; `python -m tigris_pio.hil.c_header`."""

from pathlib import Path

from tigris_pio.format.c_header import enum_text, record_text
from tigris_pio.hil import protocol

HEADER_PATH = Path(__file__).resolve().parents[2] / "runtime" / "include" / "tigris_protocol.h"

_ENUMS = (protocol.Request, protocol.TransferFrame, protocol.RowsFrame, protocol.Answer, protocol.Refusal,
          protocol.Direction, protocol.RunFlag)  # fmt: skip


def render() -> str:
    """The header's text."""
    out = (
        "/* Messages of the serial harness, generated from tigris_pio/hil/protocol.py by\n"
        " * python -m tigris_pio.hil.c_header. Do not edit. Little-endian; docs/protocol.md describes them. */\n"
        '#ifndef TIGRIS_PROTOCOL_H\n#define TIGRIS_PROTOCOL_H\n\n#include "tigris_format.h"\n\n'
        f"#define TIGRIS_SERVE_PROTOCOL {protocol.VERSION}U\n"
        f"#define TIGRIS_SERVE_LEAST_PAYLOAD {protocol.PAYLOAD_BYTES}U\n"
        f"#define TIGRIS_SERVE_CHECKSUM_BYTES {protocol.CHECKSUM_BYTES}U\n"
        f"#define TIGRIS_SERVE_RESPONSE_BIT {protocol.RESPONSE_BIT:#x}U\n"
        f"#define TIGRIS_SERVE_SEQUENCES {protocol.SEQUENCES:#x}U\n"
        f"#define TIGRIS_SERVE_IN_FLIGHT {protocol.IN_FLIGHT}U\n"
        f"#define TIGRIS_SERVE_MOST_TRANSFER_FRAMES {protocol.MOST_TRANSFER_FRAMES}U\n\n"
    )
    out += "".join(enum_text(kind, protocol.Message.PREFIX) for kind in _ENUMS)
    out += "".join(record_text(record) for record in protocol.RECORDS)
    return out.rstrip() + "\n\n#endif\n"


if __name__ == "__main__":
    HEADER_PATH.write_text(render(), encoding="utf-8")
