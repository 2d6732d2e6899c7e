"""Options of a plan that do not depend on the memory."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.enums import WeightMode


@dataclasses.dataclass(frozen=True)
class WeightOptions:
    """How weights are stored and read. `xip` promises that they are never copied."""

    xip: bool = False
    mode: WeightMode = WeightMode.IN_PLACE
