"""The messages between host and board. docs/protocol.md is their text.

`runtime/include/tigris_protocol.h` is generated from this module by `python -m tigris_pio.hil.c_header`.
The host asks, the board answers: one request at a time. A request's payload is its record, a response's
payload likewise, both followed by data where the record says so. Request STREAM opens a stream, whose frames
are not waited for one by one.
"""

from __future__ import annotations

import dataclasses
import enum

from tigris_pio.format.record import Record, i32, text, u8, u8_array, u16, u32, u32_array

VERSION = 3
#: Largest payload of a frame unless the board announces more. With header, checksum, COBS overhead and
#: both delimiters this makes 127 bytes: a UART's receive FIFO holds 128.
PAYLOAD_BYTES = 112
#: Bytes of the frame's checksum, CRC-32 (the zlib polynomial) of header and payload, little-endian.
CHECKSUM_BYTES = 4
#: Type of the response to a request: the request's type with this bit set.
RESPONSE_BIT = 0x80
#: Sequence numbers are counted modulo this: eight bits in the header's `sequence`, sixteen in `rounds`.
SEQUENCES = 1 << 24
#: Frames of a stream that may be under way: numbers from the first missing one on, a bit each in a 32-bit word.
WINDOW = 32
#: Most frames of a stream: their numbers have 16 bits.
MOST_STREAM_FRAMES = 65535

#: tigris_status of a run that was stopped.
CANCELLED = -5


class Request(enum.IntEnum):
    """Types of the frames that the host sends."""

    HELLO = 1  #: asks for a session; tigris_serve_hello_request, answered by tigris_serve_hello
    INFO = 2  #: what a model is; tigris_serve_select, answered by tigris_serve_info
    TENSOR = 3  #: an input or output; tigris_serve_select, answered by tigris_serve_tensor
    WRITE = 4  #: tigris_serve_range and as many bytes for an input; answered by nothing
    RUN = 5  #: one inference; tigris_serve_select, answered by tigris_serve_result
    READ = 6  #: tigris_serve_range; answered by that many bytes of an output
    CHECKSUM = 7  #: CRC-32 of an output; tigris_serve_select, answered by tigris_serve_checksum
    PROFILE = 8  #: tigris_serve_range, in operators; answered by as many tigris_serve_profile as fit
    PLAN_CHECK = 9  #: checks the plan's CRC-32; tigris_serve_select, answered by tigris_serve_checksum
    STATUS_TEXT = 10  #: tigris_serve_status; answered by a sentence, UTF-8 without a final zero
    CANCEL = 11  #: stops a run, which then ends with TIGRIS_ERR_CANCELLED; answered by nothing when none is on
    FAULT = 12  #: where a model was refused; tigris_serve_select, answered by tigris_serve_fault
    RESET = 13  #: what lives from run to run begins anew; tigris_serve_select, answered by tigris_serve_status
    STREAM = 14  #: opens a stream of an input or output; tigris_serve_stream, answered by tigris_serve_checksum
    TRACE = 15  #: a run that stops behind a kernel call; tigris_serve_range, answered by tigris_serve_trace
    ROWS = 16  #: tigris_serve_range; answered by that many bytes of rows that the last call of TRACE made or read


class StreamFrame(enum.IntEnum):
    """Types of the frames of a stream. They carry session and number of the STREAM request that opened it."""

    DATA = 241  #: u16 number of the frame and its bytes: to the board for an input, to the host for an output
    ACK = 242  #: to the host, of an input: tigris_serve_window, whose bits are the frames that have come
    CREDIT = 243  #: to the board, of an output: tigris_serve_window, whose bits are the frames to be sent again


class RowsFrame(enum.IntEnum):
    """Types of the frames that move rows of streamed inputs and outputs during a run, in pairs of which the board sends
    the first, until the second comes. They carry session and number of the RUN or TRACE, and tigris_serve_moved."""

    WANT = 244  #: to the host: the run waits for these bytes of an input
    GIVE = 245  #: to the board: the same, and the bytes
    MADE = 246  #: to the host: these bytes of an output, and they themselves
    TOOK = 247  #: to the board: the same, without them


class Answer(enum.IntEnum):
    """Types of the frames that the board sends besides responses."""

    BUSY = 240  #: tigris_serve_busy: the request is being worked on
    ERROR = 255  #: tigris_serve_error: the request was refused


class Refusal(enum.IntEnum):
    """Why a request was refused."""

    REQUEST = 1  #: unknown type
    LENGTH = 2  #: the payload is shorter or longer than the request's
    SESSION = 3  #: not the session that the last HELLO began: the board restarted, or serves another host
    MODEL = 4  #: no model of this index
    TENSOR = 5  #: no input or output of this index
    RANGE = 6  #: offset and bytes reach outside the tensor, or outside one frame
    NOT_READY = 7  #: the model cannot run; its INFO has the status
    NO_OUTPUT = 8  #: no run has succeeded since inputs were written, or the firmware ran the model since
    SEQUENCE = 9  #: neither the sequence number after the last request's nor that request again: a late duplicate
    BUSY = 10  #: a HELLO that came while the board runs a model for another host
    NO_CALL = 11  #: nothing was traced since something was last written or run


class Direction(enum.IntEnum):
    """Which of a model's tensors a request is about."""

    INPUT = 0
    OUTPUT = 1
    ROWS = 2  #: STREAM: what ROWS gives


class RunFlag(enum.IntFlag):
    """Options of a run, in tigris_serve_select.index."""

    CLEAR_PROFILE = 1  #: the per-operator counters start from zero


@dataclasses.dataclass(frozen=True)
class FrameHeader(Record):
    """First bytes of every frame."""

    C_NAME = "tigris_serve_header"

    type: int = u8("tigris_serve_request, the same with the response bit, or tigris_serve_answer")
    sequence: int = u8("the host counts its requests; an answer repeats its request's")
    session: int = u16("HELLO: any number; else that number xor the nonce of HELLO's response. An answer repeats it")
    length: int = u16("bytes of payload")
    rounds: int = u16("how often the sequence number has passed 255; an answer repeats it", 0)


@dataclasses.dataclass(frozen=True)
class HelloRequest(Record):
    """Request HELLO."""

    C_NAME = "tigris_serve_hello_request"

    protocol: int = u16("protocol version of the host")
    reserved: int = u16("0", 0)


@dataclasses.dataclass(frozen=True)
class Hello(Record):
    """Response to HELLO. Its first two fields stay where they are in every protocol version."""

    C_NAME = "tigris_serve_hello"

    protocol: int = u16("protocol version of the board")
    payload_bytes: int = u16("largest payload the board takes and sends")
    format_version: int = u16("version of the plans it reads")
    model_count: int = u16("models it serves")
    counter_hz: int = u32("counts per second; 0: unknown, or no measure of time")
    counter_unit: bytes = text(16, "what is counted: cycles, instructions, ns; empty: nothing")
    board: bytes = text(32, "name of the board")
    nonce: int = u16("xor the number in HELLO's header: the session that this HELLO begins with its next request", 0)
    stream_bytes: int = u16("most data of a stream's frame", 0)
    busy_ms: int = u32("BUSY comes at the first yield after so many milliseconds; 0: at every one, or not known", 0)


@dataclasses.dataclass(frozen=True)
class Select(Record):
    """Request about a model, or one of its tensors."""

    C_NAME = "tigris_serve_select"

    model: int = u8("index of the model")
    direction: int = u8("tigris_serve_direction", 0)
    index: int = u16("index of the tensor; flags of RUN", 0)


@dataclasses.dataclass(frozen=True)
class Range(Record):
    """Request about a part of a tensor, of the profile or of a run's kernel calls.

    ROWS: index 0 is the output of the last call of TRACE, i + 1 its operand i, of which first and count are bytes.
    TRACE: a checksum is taken when `first` kernel calls have been made, and after each `count` more, at most 11; when
    `index` are taken the run stops, behind the operator of that call; 0: it goes on to its end.
    """

    C_NAME = "tigris_serve_range"

    model: int = u8("index of the model")
    reserved: int = u8("0", 0)
    index: int = u16("index of the input (WRITE) or output (READ); see above", 0)
    first: int = u32("first byte; first operator; kernel calls", 0)
    count: int = u32("bytes; operators; kernel calls", 0)


@dataclasses.dataclass(frozen=True)
class Stream(Record):
    """Request STREAM. It begins as tigris_serve_range does."""

    C_NAME = "tigris_serve_stream"

    model: int = u8("index of the model")
    direction: int = u8("tigris_serve_direction", 0)
    index: int = u16("index of the input or output, or as ROWS has it", 0)
    first: int = u32("first byte", 0)
    count: int = u32("bytes", 0)
    frame_bytes: int = u16("bytes of a frame, but for the last: 1 to what HELLO's stream_bytes says", 0)
    reserved: int = u16("0", 0)


@dataclasses.dataclass(frozen=True)
class Window(Record):
    """Payload of ACK and CREDIT."""

    C_NAME = "tigris_serve_window"

    next: int = u16("all frames before this number have come; as many as there are: the stream is done", 0)
    reserved: int = u16("0", 0)
    bits: int = u32("bit i is frame next + i: it has come (ACK), or shall be sent again (CREDIT)", 0)


@dataclasses.dataclass(frozen=True)
class Info(Record):
    """Response to INFO."""

    C_NAME = "tigris_serve_info"

    status: int = i32("tigris_status of opening the plan and its session; the rest is 0 without a plan")
    plan_bytes: int = u32("size of the plan")
    plan_crc32: int = u32("checksum in its header")
    fast_needed: int = u32("fast arena the plan asks for, with the scratch that a kernel library lacks now")
    fast_given: int = u32("fast arena the firmware has for it")
    slow_needed: int = u32("slow arena the plan asks for")
    slow_given: int = u32("slow arena the firmware has for it")
    input_count: int = u16("model inputs")
    output_count: int = u16("model outputs")
    source_sha256: tuple[int, ...] = u8_array(32, "SHA-256 of the model the plan was made from, with its data files")
    name: bytes = text(48, "model name")


@dataclasses.dataclass(frozen=True)
class Tensor(Record):
    """Response to TENSOR."""

    C_NAME = "tigris_serve_tensor"

    stored_bytes: int = u32("its size")
    dtype: int = u8("tigris_dtype as stored")
    reserved: tuple[int, ...] = u8_array(3, "0", (0, 0, 0))
    name: bytes = text(48, "its name, cut to what fits", b"")


@dataclasses.dataclass(frozen=True)
class Result(Record):
    """Response to RUN."""

    C_NAME = "tigris_serve_result"

    status: int = i32("tigris_status of tigris_run")
    elapsed: tuple[int, int] = u32_array(2, "counts spent in tigris_run outside the yield hook, low word first")
    fast_peak: int = u32("tigris_usage")
    slow_peak: int = u32("tigris_usage")
    slow_read: int = u32("tigris_usage")
    slow_written: int = u32("tigris_usage")
    inputs_crc32: int = u32("of the inputs as the run found them, one after another")


@dataclasses.dataclass(frozen=True)
class Trace(Record):
    """Response to TRACE. A kernel call makes some rows of one image of an operator's output.

    The calls' checksum is the CRC-32 of, for each of them: op, image, first, rows, the CRC-32 of each operand's rows
    before the call, 32 bits each, and the rows that it made.
    """

    C_NAME = "tigris_serve_trace"

    status: int = i32("tigris_status of tigris_run: TIGRIS_ERR_CANCELLED when it was stopped; states are as before")
    inputs_crc32: int = u32("of the inputs as the run found them, one after another")
    calls: int = u32("kernel calls looked at: up to the one that the run was stopped behind. The rest is of the last")
    op: int = u32("operator")
    image: int = u32("image of the batch")
    first: int = u32("first row of that image that it made")
    rows: int = u32("how many; of all images when it took the batch whole")
    crc32: int = u32("checksum of all calls looked at")
    operands: tuple[int, ...] = u32_array(8, "CRC-32 of each operand's rows before the call; unused entries 0")
    checksums: tuple[int, ...] = u32_array(11, "checksums of the calls when they were asked for; unused entries 0")


@dataclasses.dataclass(frozen=True)
class Checksum(Record):
    """Response to CHECKSUM, PLAN_CHECK and STREAM."""

    C_NAME = "tigris_serve_checksum"

    status: int = i32("tigris_status of tigris_plan_check_crc; 0 for an output or a stream")
    crc32: int = u32("of the output; the one in the plan's header; of the stream's bytes, 0 for an input")


@dataclasses.dataclass(frozen=True)
class Profile(Record):
    """One operator's part in the runs since the profile was cleared."""

    C_NAME = "tigris_serve_profile"

    calls: int = u32("kernel calls: once a band and image")
    elapsed: tuple[int, int] = u32_array(2, "counts spent in them, low word first")


@dataclasses.dataclass(frozen=True)
class Status(Record):
    """Request STATUS_TEXT, and response to RESET."""

    C_NAME = "tigris_serve_status"

    status: int = i32("tigris_status")


@dataclasses.dataclass(frozen=True)
class Busy(Record):
    """Payload of BUSY."""

    C_NAME = "tigris_serve_busy"

    yields: int = u32("times the run reached its yield hook")


@dataclasses.dataclass(frozen=True)
class Moved(Record):
    """Payload of the frames that move rows, or its beginning."""

    C_NAME = "tigris_serve_moved"

    port: int = u32("index of the input, or of the output")
    first: int = u32("first byte of it")
    bytes: int = u32("how many")


@dataclasses.dataclass(frozen=True)
class Fault(Record):
    """Response to FAULT. Indices of the plan, 0xFFFFFFFF where there is none."""

    C_NAME = "tigris_serve_fault"

    status: int = i32("tigris_status of the refusal; 0: nothing was refused")
    stage: int = u32("stage")
    op: int = u32("operator")
    tensor: int = u32("tensor")
    name: bytes = text(96, "name of the operator, else of the tensor, cut to what fits; empty: not known", b"")


@dataclasses.dataclass(frozen=True)
class Error(Record):
    """Payload of ERROR."""

    C_NAME = "tigris_serve_error"

    refusal: int = u32("tigris_serve_refusal")


RECORDS: tuple[type[Record], ...] = (
    FrameHeader,
    HelloRequest,
    Hello,
    Select,
    Range,
    Stream,
    Window,
    Info,
    Tensor,
    Result,
    Trace,
    Checksum,
    Profile,
    Status,
    Busy,
    Moved,
    Fault,
    Error,
)
