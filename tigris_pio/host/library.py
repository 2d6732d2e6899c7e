"""Finds and loads the runtime's shared library, and declares its functions (runtime/host)."""

import ctypes
import functools
import os
from pathlib import Path

from tigris_pio import installation
from tigris_pio.errors import ToolError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.records import VERSION

#: Environment variable with the path of a library to use instead of the installed one.
LIBRARY_VARIABLE = "TIGRIS_RUNTIME_LIBRARY"
HOST_VERSION = 9

_PACKAGE = Path(__file__).resolve().parent
_SUFFIXES = (".so", ".pyd", ".dylib", ".dll")


class HostProfile(ctypes.Structure):
    """Calls and time of one operator over all runs of a session."""

    _fields_ = (("calls", ctypes.c_uint64), ("nanoseconds", ctypes.c_uint64))


class HostUsage(ctypes.Structure):
    """tigris_usage: memory used, and bytes moved, by the last run."""

    _fields_ = (
        ("fast_peak", ctypes.c_uint32),
        ("slow_peak", ctypes.c_uint32),
        ("slow_read", ctypes.c_uint32),
        ("slow_written", ctypes.c_uint32),
    )


#: tigris_fetch_rows_hook and tigris_take_rows_hook: context, index of the input or output, first row, rows, address.
RowsHook = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p
)

#: tigris_work: argument, worker.
Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)
#: tigris_parallel_hook: context, address of the work, its argument.
ParallelHook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

#: TIGRIS_MAX_OPERANDS
MAX_OPERANDS = 8


class HostCall(ctypes.Structure):
    """tigris_host_call: one kernel call, and the rows of its operands."""

    _fields_ = (
        ("op", ctypes.c_uint32),
        ("image", ctypes.c_uint32),
        ("first", ctypes.c_uint32),
        ("rows", ctypes.c_uint32),
        ("operand_count", ctypes.c_uint32),
        ("operand_crc32", ctypes.c_uint32 * MAX_OPERANDS),
        ("crc32", ctypes.c_uint32),
        ("operand_first", ctypes.c_uint32 * MAX_OPERANDS),
        ("operand_rows", ctypes.c_uint32 * MAX_OPERANDS),
    )


class HostWatch(ctypes.Structure):
    """tigris_host_watch: buffers of a run that records its calls."""

    _fields_ = (
        ("calls", ctypes.POINTER(HostCall)),
        ("capacity", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("wanted", ctypes.c_uint32),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("bytes", ctypes.c_uint32 * (MAX_OPERANDS + 1)),
    )


def _reinstall() -> str:
    return installation.reinstall_command(_PACKAGE.parent)


def _missing() -> ToolError:
    """A ToolError with the reason, the way to get a compiler, and the command that then builds the library."""
    try:
        reason = (_PACKAGE / installation.REASON_FILE).read_text("utf-8").strip()
    except OSError:
        reason = f"there is no _runtime file in {_PACKAGE}"
    return ToolError(
        f"running a plan here needs the runtime for this machine, which was not built when tigris-pio was installed: "
        f"{reason}. Install a C compiler: {installation.compiler_hint()}; then run: {_reinstall()}"
    )


def library_path() -> Path:
    """Path of the library; ToolError if it is not built."""
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            raise ToolError(f"{LIBRARY_VARIABLE} names {named}, which does not exist; unset it or name the library")
        return path
    built = sorted(path for path in _PACKAGE.glob("_runtime*") if path.suffix in _SUFFIXES)
    if not built:
        raise _missing()
    return max(built, key=lambda path: path.stat().st_mtime)


def _declare(library: ctypes.CDLL) -> None:
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    int32, uint32 = ctypes.c_int32, ctypes.c_uint32
    signatures: dict[str, tuple[object, tuple[object, ...]]] = {
        "tigris_host_bytes": (size, ()),
        "tigris_host_open": (int32, (pointer, pointer, size)),
        "tigris_host_check_crc": (int32, (pointer,)),
        "tigris_host_bind": (int32, (pointer, pointer, size, pointer, size, ctypes.POINTER(HostProfile))),
        "tigris_host_rows": (None, (pointer, RowsHook, RowsHook)),
        "tigris_host_parallel": (None, (pointer, ParallelHook)),
        "tigris_host_run": (int32, (pointer, ctypes.POINTER(pointer), ctypes.POINTER(HostUsage))),
        "tigris_host_calls": (int32, (pointer, ctypes.POINTER(HostWatch), ctypes.POINTER(HostUsage))),
        "tigris_host_reset": (int32, (pointer,)),
        "tigris_host_state": (pointer, (pointer, uint32)),
        "tigris_host_bytes_short": (uint32, (pointer,)),
        "tigris_host_fault": (uint32, (pointer, ctypes.c_char_p, size)),
        "tigris_host_input": (pointer, (pointer, uint32)),
        "tigris_host_output": (pointer, (pointer, uint32)),
        "tigris_host_status_text": (ctypes.c_char_p, (int32,)),
        "tigris_host_kernel_count": (size, ()),
        "tigris_host_kernel": (uint32, (size,)),
        "tigris_host_place_open": (pointer, (pointer,)),
        "tigris_host_place_close": (None, (pointer,)),
        "tigris_host_place": (int32, (pointer, pointer, pointer, pointer)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


@functools.cache
def load() -> ctypes.CDLL:
    """Loads the library and declares its functions; ToolError if it is missing or of another version."""
    path = library_path()
    try:
        library = ctypes.CDLL(str(path))
        version = library.tigris_host_version
    except (OSError, AttributeError) as error:
        raise ToolError(f"{path} is no usable runtime library ({error}); run: {_reinstall()}") from error
    version.restype = ctypes.c_uint32
    if version() != (HOST_VERSION << 16 | VERSION):
        raise ToolError(f"{path} was built from other sources than this package; run: {_reinstall()}")
    _declare(library)
    return library


def status_text(status: int) -> str:
    """The runtime's text for a status code."""
    return bytes(load().tigris_host_status_text(status)).decode()


def kernels() -> frozenset[tuple[OpKind, DType]]:
    """The portable kernels in the library."""
    library = load()
    codes = [library.tigris_host_kernel(index) for index in range(library.tigris_host_kernel_count())]
    return frozenset((OpKind(code >> 8), DType(code & 0xFF)) for code in codes)
