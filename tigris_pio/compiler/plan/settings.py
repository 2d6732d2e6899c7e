"""What a plan is made with, whatever memory there is."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.enums import WeightMode


@dataclasses.dataclass(frozen=True)
class WeightOptions:
    """How weights are stored and read. `xip` promises that they are never copied."""

    xip: bool = False
    mode: WeightMode = WeightMode.IN_PLACE
