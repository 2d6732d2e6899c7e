"""The structural records of a `.tgrs` plan: header, tensors, I/O, stages, views, operators, operands.

A plan is one header followed by 16-byte aligned sections. Offsets named "section" are from the
start of the file; every other offset says what it is relative to. SPEC.md explains how the records
work together; `runtime/include/tigris_format.h` is generated from this module.
"""

from tigris_pio.format.record import PlainRecord, Record, f32, i32, text, u8, u8_array, u16, u32, u32_array

MAGIC = b"TGRS"
SIGNATURE_MAGIC = b"TGSG"
VERSION = 1
SECTION_ALIGNMENT = 16
#: CRC-32 (the zlib polynomial) covers every byte from here to the end of the file.
CRC_COVERS_FROM = 20
MAX_RANK = 8
#: Bytes of run-time state per view of the largest stage, at the start of the fast arena.
VIEW_STATE_BYTES = 16


class PlanRecord(PlainRecord):
    """Base of the records below."""


class Header(PlanRecord):
    """First bytes of the file."""

    C_NAME = "tigris_header_record"

    magic: bytes = text(4, 'the bytes "TGRS"')
    version: int = u16("format version, 1")
    header_bytes: int = u16("size of this record")
    flags: int = u32("bit set of tigris_header_flag")
    total_bytes: int = u32("size of the whole plan")
    crc32: int = u32("CRC-32 of every byte after this field")
    alignment: int = u16("a power of two; arenas must be aligned to it, and every arena offset is a multiple of it")
    security_version: int = u16("counts releases that may not be undone; an update to a smaller one is refused")
    fast_bytes: int = u32("bytes of the fast arena, run-time state included")
    slow_bytes: int = u32("bytes of the slow arena; 0: none")
    state_bytes: int = u32("run-time state at the start of the fast arena: 16 bytes per view of the largest stage")
    fast_reserved: int = u32("most fast bytes that copied or decompressed weights take in one stage")
    strings: int = u32("section of zero-terminated UTF-8 names")
    strings_bytes: int = u32("bytes in that section")
    tensors: int = u32("section of tensor records")
    tensor_count: int = u32("records in that section")
    io: int = u32("section of I/O records: inputs, then outputs")
    input_count: int = u16("model inputs")
    output_count: int = u16("model outputs")
    stages: int = u32("section of stage records, in execution order")
    stage_count: int = u32("records in that section")
    views: int = u32("section of view records, grouped by stage")
    view_count: int = u32("records in that section")
    ops: int = u32("section of operator records, in execution order")
    op_count: int = u32("records in that section")
    operands: int = u32("section of operand records, grouped by operator")
    operand_count: int = u32("records in that section")
    params: int = u32("section of kernel parameter records")
    params_bytes: int = u32("bytes in that section")
    weights: int = u32("section of constants and weight blocks")
    weights_bytes: int = u32("bytes in that section")
    macs: tuple[int, int] = u32_array(2, "multiply-accumulates per inference, low word first")
    source_sha256: tuple[int, ...] = u8_array(32, "SHA-256 of the model that was compiled, with its data files")
    name: bytes = text(48, "model name")


class TensorRecord(PlanRecord):
    """One activation or constant, stored as [batch, height, width, channels], channels fastest.

    Tensors of other ranks are reshaped to this form; a row is one index of `height`. A folded tensor takes the memory
    of one row: the operator that makes row r adds to row r - 1, which no longer exists afterwards.
    """

    name: int = u32("offset in strings")
    batch: int = u32("images; bands need 1")
    height: int = u32("rows")
    width: int = u32("columns")
    channels: int = u32("channels")
    dtype: int = u8("tigris_dtype")
    home: int = u8("tigris_home")
    flags: int = u16("bit set of tigris_tensor_flag")
    home_offset: int = u32("offset in the region of its home; 0 without a home")
    scale: float = f32("real = (q - zero_point) * scale; 0: not quantised")
    zero_point: int = i32("see scale")


class IoRecord(PlanRecord):
    """A model input or output in the form that the model has it.

    The model's array is the stored array, viewed as `stored_shape`, with its axes permuted by `permutation`, then
    reshaped to `shape`. If `model_dtype` is float32 and the tensor's is not, values are dequantised by its scale.
    If `model_dtype` is uint8 and the tensor's int8, the model's values are 128 higher.
    """

    name: int = u32("offset in strings")
    tensor: int = u16("index of the tensor")
    model_dtype: int = u8("tigris_dtype of the model's own input or output")
    rank: int = u8("dimensions used in shape")
    stored_rank: int = u8("dimensions used in stored_shape and permutation")
    reserved: int = u8("0")
    mover: int = u16("streamed: 1 and the index of the FETCH or TAKE that moves its rows; 0: whole in an arena")
    shape: tuple[int, ...] = u32_array(MAX_RANK, "the model's own shape; unused entries 0")
    stored_shape: tuple[int, ...] = u32_array(MAX_RANK, "shape of the stored data; unused entries 0")
    permutation: tuple[int, ...] = u8_array(MAX_RANK, "permuted axis i is stored axis permutation[i]")


class StageRecord(PlanRecord):
    """Operators that run together over `band_count` bands of rows."""

    first_op: int = u32("index of its first operator; stages cover all operators without gaps")
    op_count: int = u32("operators")
    first_view: int = u32("index of its first view")
    view_count: int = u32("views")
    band_count: int = u32("bands, at least 1; bands times views and operands, summed over stages, at most 2^20")
    strategy: int = u8("tigris_strategy, informational")
    weight_mode: int = u8("tigris_weight_mode")
    images: int = u16("how often the bands run, once for each image; each of its operators has the same number")
    block: int = u32("offset of the stage's weight block in the weights section")
    block_stored_bytes: int = u32("bytes of the block in the file")
    block_raw_bytes: int = u32("bytes of the decompressed block; equal if it is not compressed")
    block_fast_offset: int = u32("fast-arena offset of a copied or decompressed block")


class ViewRecord(PlanRecord):
    """How one stage sees one tensor: whole at its home, or some rows of it in a window."""

    tensor: int = u16("index of the tensor")
    flags: int = u16("bit set of tigris_view_flag")
    offset: int = u32("fast-arena offset of the window; 0 without one")
    capacity_rows: int = u32("rows that the window holds; the tensor's height without one")
    pace_numerator: int = u32("pace of the rows, see SPEC.md section 3; 0: rows are made as later operators need them")
    pace_denominator: int = u32("see pace_numerator; at least 1 with a pace, 0 without")
    pace_offset: int = i32("see pace_numerator")
    parked: int = u32("fast-arena offset of the kept rows between bands; if equal to `offset`, the window's start")


class OpRecord(PlanRecord):
    """One operator: a kernel, its parameters, its input operands and its output view."""

    kind: int = u16("tigris_op_kind")
    dtype: int = u8("tigris_dtype of the arithmetic; kind, dtype and packing select the kernel")
    packing: int = u8("tigris_packing of its weights")
    operand_count: int = u8("inputs")
    flags: int = u8("bit set of tigris_op_flag")
    output_view: int = u16("view of the output, counted from the stage's first view")
    first_operand: int = u32("index of the first operand")
    images: int = u32("the batch if a call takes one image; 1 if a call takes the whole tensors")
    name: int = u32("offset in strings")
    params: int = u32("offset of its parameters in the params section")
    params_bytes: int = u32("bytes of its parameters")
    scratch: int = u32("fast-arena offset of its scratch memory")
    scratch_bytes: int = u32("bytes of scratch; 0: none")


class OperandRecord(PlanRecord):
    """One input of an operator, and its row map: the input rows that a range of output rows needs.

    Output rows [a, b) need input rows [(a * numerator + first) // denominator,
    ((b - 1) * numerator + last) // denominator + 1), with floor division. Rows outside the tensor are padding.
    Numerator 0, first 0 and last height - 1 ask for the whole input.
    """

    view: int = u16("view of the input, counted from the stage's first view")
    numerator: int = u16("see above")
    denominator: int = u16("see above; at least 1")
    flags: int = u16("bit set of tigris_operand_flag")
    first: int = i32("see above")
    last: int = i32("see above")


class SignatureRecord(PlanRecord):
    """The trailer of a signed plan, directly behind its `total_bytes` bytes.

    It signs the SHA-256 of these bytes. P256: ECDSA of that digest, r and s of 32 bytes each, high byte first.
    ED25519: the signature of the digest's 32 bytes as a message.
    """

    magic: bytes = text(4, 'the bytes "TGSG"')
    record_bytes: int = u16("size of this record")
    algorithm: int = u16("tigris_signature_algorithm")
    signature: tuple[int, ...] = u8_array(64, "see above")


#: All of them, in the order of the definitions.
STRUCTURE: tuple[type[Record], ...] = tuple(PlanRecord.__subclasses__())
