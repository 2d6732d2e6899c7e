"""The messages between host and board; docs/protocol.md describes them.

`python -m tigris_pio.hil.c_header` generates `runtime/include/tigris_protocol.h` from this module. The host sends one
request at a time, and the board answers. The payload of a request or response is its record, then data if the record
says so. Request TRANSFER opens a transfer, whose frames are not acknowledged one by one.
"""

import enum

from tigris_pio.format.record import PlainRecord, Record, i32, text, u8, u8_array, u16, u32, u32_array

VERSION = 3
#: Largest payload of a frame in bytes, unless the board announces more. With header, checksum, COBS overhead and both
#: delimiters a frame then has 127 bytes: a UART's receive FIFO holds 128.
PAYLOAD_BYTES = 112
#: Bytes of the frame's checksum, CRC-32 (the zlib polynomial) of header and payload, little-endian.
CHECKSUM_BYTES = 4
#: Type of the response to a request: the request's type with this bit set.
RESPONSE_BIT = 0x80
#: Sequence numbers count modulo this: 8 bits in the header's `sequence`, 16 in `sequence_high`.
SEQUENCES = 1 << 24
#: Most frames of a transfer in flight, from the first missing one on: one bit each in a 32-bit word.
IN_FLIGHT = 32
#: Most frames of a transfer: their numbers have 16 bits.
MOST_TRANSFER_FRAMES = 65535

#: tigris_status of a cancelled run.
CANCELLED = -5


class Request(enum.IntEnum):
    """Types of the frames that the host sends."""

    HELLO = 1  #: asks for a connection; tigris_serve_hello_request, answered by tigris_serve_hello
    INFO = 2  #: describes a model; tigris_serve_select, answered by tigris_serve_info
    TENSOR = 3  #: describes an input or output; tigris_serve_select, answered by tigris_serve_tensor
    WRITE = 4  #: tigris_serve_range and that many bytes for an input; the response is empty
    RUN = 5  #: one inference; tigris_serve_select, answered by tigris_serve_result
    READ = 6  #: tigris_serve_range; answered by that many bytes of an output
    CHECKSUM = 7  #: CRC-32 of an output; tigris_serve_select, answered by tigris_serve_checksum
    PROFILE = 8  #: tigris_serve_range, in operators; answered by as many tigris_serve_profile as fit
    PLAN_CHECK = 9  #: checks the plan's CRC-32; tigris_serve_select, answered by tigris_serve_checksum
    STATUS_TEXT = 10  #: tigris_serve_status; answered by a sentence, UTF-8 without a final zero
    CANCEL = 11  #: stops a run, which then ends with TIGRIS_ERR_CANCELLED; without a run the response is empty
    FAULT = 12  #: where a model was refused or a run failed; tigris_serve_select, answered by tigris_serve_fault
    RESET = 13  #: gives all states their first values; tigris_serve_select, answered by tigris_serve_status
    TRANSFER = 14  #: opens a transfer of an input or output; tigris_serve_transfer, answered by tigris_serve_checksum
    TRACE = 15  #: a run that stops after a kernel call; tigris_serve_range, answered by tigris_serve_trace
    ROWS = 16  #: tigris_serve_range; answered by that many bytes of rows that the last call of TRACE made or read


class TransferFrame(enum.IntEnum):
    """Types of a transfer's frames. They carry the connection and sequence number of the TRANSFER that opened it."""

    DATA = 241  #: u16 number of the frame and its bytes: to the board for an input, to the host for an output
    ACK = 242  #: to the host, of an input: tigris_serve_progress, whose bits are the frames that have arrived
    CREDIT = 243  #: to the board, of an output: tigris_serve_progress, whose bits are the frames to send again


class RowsFrame(enum.IntEnum):
    """Types of the frames that move rows of streamed inputs and outputs during a run.

    They come in pairs. The board repeats the first until the second arrives. They carry the connection and sequence
    number of the RUN or TRACE, and begin with tigris_serve_moved.
    """

    WANT = 244  #: to the host: the run waits for these bytes of an input
    GIVE = 245  #: to the board: the same record, then the bytes
    MADE = 246  #: to the host: the run has made these bytes of an output, which follow
    TOOK = 247  #: to the board: the same record, without the bytes


class Answer(enum.IntEnum):
    """Types of the frames that the board sends besides responses."""

    BUSY = 240  #: tigris_serve_busy: the board still works on the request
    ERROR = 255  #: tigris_serve_error: the request was refused


class Refusal(enum.IntEnum):
    """Why the board refused a request."""

    REQUEST = 1  #: unknown type
    LENGTH = 2  #: the payload is shorter or longer than the request's
    CONNECTION = 3  #: not the connection that the last HELLO opened: the board restarted, or serves another host
    MODEL = 4  #: no model of this index
    TENSOR = 5  #: no input or output of this index
    RANGE = 6  #: offset and bytes reach outside the tensor, or outside one frame
    NOT_READY = 7  #: the model cannot run; its INFO has the status
    NO_OUTPUT = 8  #: no run has succeeded since inputs were written, or the firmware has run the model since
    SEQUENCE = 9  #: a late duplicate: neither the last request again nor the next sequence number
    BUSY = 10  #: a HELLO while the board runs a model for another host
    NO_CALL = 11  #: no TRACE since the last write or run


class Direction(enum.IntEnum):
    """Which of a model's tensors a request concerns."""

    INPUT = 0
    OUTPUT = 1
    ROWS = 2  #: TRANSFER only: the rows that request ROWS reads


class RunFlag(enum.IntFlag):
    """Options of a run, in tigris_serve_select.index."""

    CLEAR_PROFILE = 1  #: the per-operator counters start from zero


class Message(PlainRecord):
    """Base of the records below."""

    PREFIX = "tigris_serve"


class FrameHeader(Message):
    """First bytes of every frame."""

    C_NAME = "tigris_serve_header"

    type: int = u8("tigris_serve_request, the same with the response bit, or tigris_serve_answer")
    sequence: int = u8("the host counts its requests; an answer repeats its request's")
    connection: int = u16("HELLO: any number; else that number xor the nonce of HELLO's response. An answer repeats it")
    length: int = u16("bytes of payload")
    sequence_high: int = u16("upper 16 bits of the sequence number; an answer repeats them", default=0)


class HelloRequest(Message):
    """Request HELLO."""

    protocol: int = u16("protocol version of the host")
    reserved: int = u16("0", default=0)


class Hello(Message):
    """Response to HELLO. Its first two fields have the same place in every protocol version."""

    protocol: int = u16("protocol version of the board")
    payload_bytes: int = u16("largest payload the board receives and sends")
    format_version: int = u16("version of the plans it reads")
    model_count: int = u16("models it serves")
    counter_hz: int = u32("counts per second; 0: unknown, or no measure of time")
    counter_unit: bytes = text(16, "unit of the counter: cycles, instructions, ns; empty: no counter")
    board: bytes = text(32, "name of the board")
    nonce: int = u16("xor the number in HELLO's header: the connection, which the next request in it opens", default=0)
    transfer_bytes: int = u16("most data bytes of a transfer's frame", default=0)
    busy_ms: int = u32("BUSY comes at the first yield after this time; 0: at every yield, or not known", default=0)


class Select(Message):
    """Request about a model, or one of its tensors."""

    model: int = u8("index of the model")
    direction: int = u8("tigris_serve_direction", default=0)
    index: int = u16("index of the tensor; flags of RUN", default=0)


class Range(Message):
    """Request about a part of a tensor, of the profile or of a run's kernel calls.

    ROWS: index 0 is the output of the last call of TRACE, i + 1 its operand i; `first` and `count` are bytes.
    TRACE: the board takes a checksum after `first` kernel calls and after each `count` more, at most 11. After `index`
    checksums the run stops, after the operator of that call; 0: it runs to its end.
    """

    model: int = u8("index of the model")
    reserved: int = u8("0", default=0)
    index: int = u16("index of the input (WRITE) or output (READ); see above", default=0)
    first: int = u32("first byte; first operator; kernel calls", default=0)
    count: int = u32("bytes; operators; kernel calls", default=0)


class Transfer(Message):
    """Request TRANSFER. It begins like tigris_serve_range."""

    model: int = u8("index of the model")
    direction: int = u8("tigris_serve_direction", default=0)
    index: int = u16("index of the input or output; for direction ROWS as in request ROWS", default=0)
    first: int = u32("first byte", default=0)
    count: int = u32("bytes", default=0)
    frame_bytes: int = u16("data bytes of each frame but the last: 1 to HELLO's transfer_bytes", default=0)
    reserved: int = u16("0", default=0)


class Progress(Message):
    """Payload of ACK and CREDIT."""

    next: int = u16("all frames before this number have arrived; the number of frames: the transfer is done", default=0)
    reserved: int = u16("0", default=0)
    bits: int = u32("bit i is frame next + i: it has arrived (ACK), or must be sent again (CREDIT)", default=0)


class Info(Message):
    """Response to INFO."""

    status: int = i32("tigris_status of opening the plan and its session; the rest is 0 without a plan")
    plan_bytes: int = u32("size of the plan")
    plan_crc32: int = u32("checksum in its header")
    fast_needed: int = u32("bytes of fast arena that the plan needs, with scratch that the kernel library lacks now")
    fast_given: int = u32("bytes of fast arena that the firmware provides")
    slow_needed: int = u32("bytes of slow arena that the plan needs")
    slow_given: int = u32("bytes of slow arena that the firmware provides")
    input_count: int = u16("model inputs")
    output_count: int = u16("model outputs")
    source_sha256: tuple[int, ...] = u8_array(32, "SHA-256 of the plan's source model, with its data files")
    name: bytes = text(48, "model name")


class Tensor(Message):
    """Response to TENSOR."""

    stored_bytes: int = u32("its size")
    dtype: int = u8("tigris_dtype as stored")
    reserved: tuple[int, ...] = u8_array(3, "0", default=(0, 0, 0))
    name: bytes = text(48, "its name, truncated to this field", default=b"")


class Result(Message):
    """Response to RUN."""

    status: int = i32("tigris_status of tigris_run")
    elapsed: tuple[int, int] = u32_array(2, "counts spent in tigris_run outside the yield hook, low word first")
    fast_peak: int = u32("tigris_usage")
    slow_peak: int = u32("tigris_usage")
    slow_read: int = u32("tigris_usage")
    slow_written: int = u32("tigris_usage")
    inputs_crc32: int = u32("of the inputs as the run found them, one after another")


class Trace(Message):
    """Response to TRACE. A kernel call makes some rows of one image of an operator's output.

    The checksum of several calls is one CRC-32. Each call adds op, image, first, rows and the CRC-32 of each operand's
    rows before the call, 32 bits each, then the rows that it made.
    """

    status: int = i32("tigris_status of tigris_run; TIGRIS_ERR_CANCELLED: it was stopped, and states are as before")
    inputs_crc32: int = u32("of the inputs as the run found them, one after another")
    calls: int = u32("kernel calls observed, up to the one after which the run stopped; the rest describes the last")
    op: int = u32("operator")
    image: int = u32("image of the batch")
    first: int = u32("first row of that image that it made")
    rows: int = u32("rows that it made; of all images if one call takes the whole batch")
    crc32: int = u32("checksum of all calls observed")
    operands: tuple[int, ...] = u32_array(8, "CRC-32 of each operand's rows before the call; unused entries 0")
    checksums: tuple[int, ...] = u32_array(11, "checksums of the calls at the requested places; unused entries 0")


class Checksum(Message):
    """Response to CHECKSUM, PLAN_CHECK and TRANSFER."""

    status: int = i32("tigris_status of tigris_plan_check_crc; 0 for an output or a transfer")
    crc32: int = u32("of the output; of the plan's header; of the transferred bytes, 0 for an input")


class Profile(Message):
    """One operator's share of the runs since the profile was cleared."""

    calls: int = u32("kernel calls: one for each band and image")
    elapsed: tuple[int, int] = u32_array(2, "counts spent in them, low word first")


class Status(Message):
    """Request STATUS_TEXT, and response to RESET."""

    status: int = i32("tigris_status")


class Busy(Message):
    """Payload of BUSY."""

    yields: int = u32("times the run reached its yield hook")


class Moved(Message):
    """Beginning of the payload of the frames that move rows."""

    index: int = u32("index of the input, or of the output")
    first: int = u32("first byte in it")
    bytes: int = u32("number of bytes")


class Fault(Message):
    """Response to FAULT: indices in the plan, 0xFFFFFFFF for none."""

    status: int = i32("tigris_status of the refusal; 0: nothing was refused")
    stage: int = u32("stage")
    op: int = u32("operator")
    tensor: int = u32("tensor")
    name: bytes = text(96, "name of the operator, else of the tensor, truncated; empty: not known", default=b"")


class Error(Message):
    """Payload of ERROR."""

    refusal: int = u32("tigris_serve_refusal")


#: All of them, in the order of the definitions.
RECORDS: tuple[type[Record], ...] = tuple(Message.__subclasses__())
