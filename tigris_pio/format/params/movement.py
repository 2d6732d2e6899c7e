"""Elements in other places: copies, selections, interpolation between them, states, and rows of streams."""

from tigris_pio.format.record import Params, embed, i32_array, u8, u8_array, u32, u32_array
from tigris_pio.format.records import MAX_RANK, IoRecord


class CopyParams(Params):
    """Bytes of the input, unchanged."""

    bytes: int = u32("bytes copied; must equal the input's and the output's")


class TransposeParams(Params):
    """Output element at index (i0, …) is input element at sum(i_k * input_step[k]); whole tensors."""

    rank: int = u32("axes used")
    element_bytes: int = u32("1, 2, 4 or 8")
    output_shape: tuple[int, ...] = u32_array(MAX_RANK, "unused entries 1")
    input_step: tuple[int, ...] = u32_array(MAX_RANK, "in elements; unused entries 0")


class ConcatParams(Params):
    """Inputs side by side along one axis."""

    axis: int = u32("0 rows, 1 columns, 2 channels")


class SelectParams(Params):
    """Output element (row, column, channel) is the input element at the three selected indices.

    Index i of the output selects index table[i] of the input, or without a table
    floor((i * numerator + first) / denominator). Where one of the three lies outside the input the
    output element is `fill`. The arrays have one entry each for rows, columns and channels.
    """

    row_table: int = u32("int32 per output row; 0xFFFFFFFF: no table")
    column_table: int = u32("int32 per output column; 0xFFFFFFFF: no table")
    channel_table: int = u32("int32 per output channel; 0xFFFFFFFF: no table")
    numerator: tuple[int, ...] = i32_array(3, "see above; negative to turn round")
    denominator: tuple[int, ...] = i32_array(3, "see above; at least 1")
    first: tuple[int, ...] = i32_array(3, "see above")
    fill: int = u32("bits of the fill value, in the lowest bytes")


class GatherParams(Params):
    """out[o][k][i] = in[o][position][i], all axes flattened; position = positions[o * s0 + k * s1 + i * s2].

    Negative positions count from the end. A position outside is moved to the nearest inside; NaN is the first.
    """

    outer: int = u32("slices before the axis")
    length: int = u32("elements along the axis")
    inner: int = u32("elements behind the axis")
    count: int = u32("positions taken along the axis")
    position_step: tuple[int, ...] = u32_array(3, "s0, s1, s2")


class ScatterParams(Params):
    """out = in; then out[o][position][i] = update[o][k][i], one k after the other, all axes flattened.

    The position is positions[o * s0 + k * s1 + i * s2]; a negative one counts from the end. An update is skipped if its
    position is outside or NaN. Only FLOAT32 combines instead of replacing. The output is one row.
    """

    positions = embed(GatherParams, count="positions along the axis")
    combine: int = u32("0: replaced; 1: sum, 2: product, 3: larger, 4: smaller of old and update")


class ResampleParams(Params):
    """Interpolation along rows and columns, per channel.

    out[r][x] = sum_j sum_i row_weight[r][j] * column_weight[x][i] * in[row_start[r] + j][column_start[x] + i].
    Weights are float32; for int8 they are int16 with 10 fractional bits. The int8 sum is divided by 2^20, rounding
    half away from zero, and saturated (TensorFlow Lite's ResizeBilinear).
    """

    row_taps: int = u32("rows that add to one output row; at most 64")
    column_taps: int = u32("columns that add to one output column; at most 64")
    row_start: int = u32("int32 per output row")
    row_weight: int = u32("[output rows][row_taps]")
    column_start: int = u32("int32 per output column")
    column_weight: int = u32("[output columns][column_taps]")


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


class RowsParams(Params):
    """The input whose rows FETCH asks the caller for, or the output whose rows TAKE gives to the caller.

    The operator's output view has a pace that completes it in the stage's bands, and no window or one that keeps rows.
    Each row is therefore made once, in order, up to the last.
    """

    port: int = u32("index of the input or of the output, which the session's hooks receive")
