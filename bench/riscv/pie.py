"""The vector instructions (PIE) of the ESP32-P4 that ESP-NN's convolutions and fully connected layers use.

Semantics after Espressif's ESP-DL (tools/agents/skills/esp32p4-pie-simd/references/instructions.md), as the technical
reference manual's chapter is not published; ranges of constants after LLVM's tests of its assembler.
"""

from bench.assembly.engine import Builder
from bench.assembly.lanes import signed
from bench.assembly.vectors import (
    WHOLE,
    accumulate_lanes,
    accumulate_total,
    broadcast,
    move,
    read,
    sums_moved,
    write,
    zero_lanes,
    zero_total,
)

#: XACC has 40 bits. The kernels read the lower 24, with their sign, as others measured on a chip, too.
XACC_LOW = 24

BUILDERS: dict[str, Builder] = {
    "esp.zero.xacc": zero_total, "esp.zero.qacc": zero_lanes, "esp.movx.w.cfg": write("cfg", 0x1FF),
    "esp.movx.r.xacc.l": read(lambda state: signed(state.accx, XACC_LOW)),
    "esp.vld.128.ip": move(False, WHOLE, "ip"), "esp.vldbc.8.ip": broadcast(1, "ip"),
    "esp.vmulas.s8.xacc": accumulate_total("s8", ""), "esp.vmulas.s8.xacc.ld.ip": accumulate_total("s8", "ld.ip"),
    "esp.vmulas.s8.qacc": accumulate_lanes("s8", "", 32),
    **{f"esp.st.qacc.{part}.128.ip": sums_moved(True, 16 * place, 16)
       for place, part in enumerate(("l.l", "l.h", "h.l", "h.h"))},
}  # fmt: skip
