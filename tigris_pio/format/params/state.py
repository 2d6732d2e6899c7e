"""States: tensors that keep their value from run to run."""

from __future__ import annotations

from tigris_pio.format.record import Params, u8, u8_array, u32, u32_array
from tigris_pio.format.records import MAX_RANK, IoRecord


class CommitParams(Params):
    """The output is a state. Its new value is its last `kept_bytes` bytes, then the bytes of the first input.

    The second input is a constant: the value at the start of a session, repeated until the state is full. Without a
    second input every byte is `fill`. The other fields are for the host, as in an I/O record.
    """

    kept_bytes: int = u32("bytes of the state that stay and move to its start; fewer than all")
    fill: int = u8("first value of every byte, where there is no second input")
    model_dtype: int = u8("tigris_dtype of the model's own tensor")
    rank: int = u8("dimensions used in shape")
    stored_rank: int = u8("dimensions used in stored_shape and permutation")
    shape: tuple[int, ...] = u32_array(MAX_RANK, "the model's own shape; unused entries 0")
    stored_shape: tuple[int, ...] = u32_array(MAX_RANK, "shape of the stored data; unused entries 0")
    permutation: tuple[int, ...] = u8_array(MAX_RANK, "permuted axis i is stored axis permutation[i]")

    def io(self, tensor: int, name: int) -> IoRecord:
        """How the user knows the state that lies in a tensor; `name`: offset in strings."""
        return IoRecord(name, tensor, self.model_dtype, self.rank, self.stored_rank, 0, 0, self.shape,
                        self.stored_shape, self.permutation)  # fmt: skip
