"""The target `uploadmodel`: writes the plans alone to a board with this project's partition table. Runs inside SCons.

For models compiled as C it writes the weights. These have no header; the firmware compares their checksum.

An interrupted upload never leaves a mixture of two plans that looks valid. A first call of the upload program
overwrites the sectors of the plans' headers by marks that firmware takes for damage. The second call writes the plans
without headers, then the headers, and last the slot records before a plan with two slots. Until the records are erased,
they may select the other slot.

The upload command is the platform's own, with the plans as its images. UPLOADCMD is a program and $UPLOADERFLAGS. The
flags are options, the verb write_flash or write-flash, more options, and pairs of offset and file (espressif32,
pioarduino, the emulated boards).
"""

from __future__ import annotations

import itertools
import os
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .partitions import SECTOR, TABLE_BYTES, Partition, align_up, parse_binary

TARGET = "uploadmodel"
FLAGS = "$UPLOADERFLAGS"
#: Environment variable for the emulated boards' uploader: another call follows.
MORE_CALLS = "TIGRIS_UPLOAD_MORE_CALLS"
VERBS = {"write_flash": "read_flash", "write-flash": "read-flash"}


class UploadError(Exception):
    """The plans cannot be uploaded alone; the message names the remedy."""


@dataclass(frozen=True)
class Command:
    """The parts of the platform's upload command. `program` is a command line, the others are single arguments."""

    program: str
    connection: tuple[str, ...]
    verb: str
    options: tuple[str, ...]

    def write(self, images: Sequence[tuple[str, str]]) -> list[str]:
        """The arguments for writing `images`, pairs of offset and file."""
        return [*self.connection, self.verb, *self.options, *itertools.chain.from_iterable(images)]

    def read(self, offset: str, size: str, file: str) -> list[str]:
        return [*self.connection, VERBS[self.verb], offset, size, file]


def parse_command(command: str, flags: Sequence[str], images: Sequence[tuple[str, str]], protocol: str) -> Command:
    """Parses UPLOADCMD and its flags; `images` are the pairs that the platform has appended to `flags`."""
    verb = next((flag for flag in flags if flag in VERBS), None)
    if verb is None or FLAGS not in command:
        raise UploadError(
            f"-t {TARGET} needs esptool or an emulated board, but this environment uploads by "
            f"{protocol or 'a command of its own'}: use -t upload, or remove upload_protocol and upload_command"
        )
    at = list(flags).index(verb)
    rest = list(flags[at + 1 :])
    pairs = list(itertools.pairwise(rest))
    first = min((pairs.index(image) for image in images if image in pairs), default=len(rest))
    return Command(command.split(FLAGS, maxsplit=1)[0].strip(), tuple(flags[:at]), verb, tuple(rest[:first]))


def differences(device: Sequence[Partition], project: Sequence[Partition]) -> list[str]:
    """A line for each partition that differs; empty if the tables are equal."""
    there, here = {p.label: p for p in device}, {p.label: p for p in project}
    lines = []
    for label in [*here, *(label for label in there if label not in here)]:
        if there.get(label) != here.get(label):
            lines.append(
                f"  {label}: {_shown(there.get(label))} on the board, {_shown(here.get(label))} in the project"
            )
    return lines


def _shown(partition: Partition | None) -> str:
    if partition is None:
        return "not"
    flags = f", flags {partition.flags}" if partition.flags else ""
    kind = f"type {partition.type}/{partition.subtype}"
    return f"0x{partition.offset:x} to 0x{partition.end:x} ({kind}{flags})"


def compare_tables(device: bytes, project: bytes, offset: str) -> None:
    """Raises UploadError unless both binary tables are equal. `offset` is for messages."""
    there, here = parse_binary(device), parse_binary(project)
    if not there:
        raise UploadError(
            f"-t {TARGET}: the board has no partition table at {offset}; upload everything first: pio run -t upload"
        )
    lines = differences(there, here)
    if lines:
        raise UploadError(
            f"-t {TARGET}: the board's partition table at {offset} is not this project's:\n"
            + "\n".join(lines)
            + "\nNothing was written. Upload everything, table included: pio run -t upload"
        )


# ---- order -------------------------------------------------------------------------------------------------------

# The plan's first bytes, see SPEC.md, header_record: magic, version, header_bytes, flags, total_bytes.
_HEAD = struct.Struct("<4sHHII")
# A mark is the start of a plan's header, then erased flash.
MARK_BYTES = _HEAD.size


def plan_starts(image: bytes) -> list[int]:
    """The offsets of plans in a partition's content: each starts on its own sector."""
    starts, at = [], 0
    while at + _HEAD.size <= len(image):
        magic, *_, total_bytes = _HEAD.unpack_from(image, at)
        if magic == b"TGRS":
            starts.append(at)
        at = align_up(at + (total_bytes if magic == b"TGRS" else 1), SECTOR)
    return starts


def upload_calls(images: Sequence[tuple[int, bytes]]) -> list[list[tuple[int, bytes]]]:
    """The (offset, data) that each call of the upload program writes, in this order; `images` are the partitions'."""
    marks, bodies, heads, records = [], [], [], []
    for offset, image in images:
        starts = plan_starts(image)
        if not starts:  # weights
            bodies.append((offset, image))
            continue
        if starts[0] > 0:
            records.append((offset, image[: starts[0]]))
        for start, end in zip(starts, [*starts[1:], len(image)], strict=True):
            marks.append((offset + start, image[start : start + MARK_BYTES].ljust(SECTOR, b"\xff")))
            heads.append((offset + start, image[start : start + SECTOR]))
            if end > start + SECTOR:
                bodies.append((offset + start + SECTOR, image[start + SECTOR : end]))
    return [marks, [*bodies, *heads, *records]]


# ---- target ------------------------------------------------------------------------------------------------------


def add_target(
    env: Any, contents: Sequence[tuple[str, Any]], headers: Sequence[Any], refusal: Callable[[], str | None]
) -> None:
    """Adds the target. `contents`: pairs of offset and node of the model partitions' images.

    `refusal` returns why the uploaded firmware would refuse the plans, or None; it reads the files of `headers`, nodes.
    """
    images = extra_images(env)
    table = table_image(env)

    def check(target: Any, source: Any, env: Any) -> int:
        def steps() -> None:
            refused = refusal()
            if refused:
                raise UploadError(f"-t {TARGET}: {refused}")
            _check(env, _command(env, images), table)

        return _report_errors(steps)

    def write(target: Any, source: Any, env: Any) -> int:
        return _write(env, _command(env, images), [(int(at, 0), Path(node.get_abspath())) for at, node in contents])

    env.AddPlatformTarget(
        TARGET,
        [*(node for _, node in contents), *headers, *([env.File(_escaped(table[1]))] if table else [])],
        [env.VerboseAction(check, "Comparing with the board"), env.VerboseAction(write, "Uploading models")],
        "Upload Model",
        "Write the compiled models alone, without the firmware",
    )


def extra_images(env: Any) -> list[tuple[str, str]]:
    """Pairs of offset and file of all images that are flashed beside the firmware."""
    return [(str(at), str(env.subst(path))) for at, path in env.get("FLASH_EXTRA_IMAGES", [])]


def table_image(env: Any) -> tuple[str, str] | None:
    """Offset and file of the partition table, if the platform flashes one."""
    return next(((at, path) for at, path in extra_images(env) if _is_table(path)), None)


def _is_table(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith("partitions") and name.endswith(".bin")


def _escaped(path: str) -> str:
    # SCons would expand a dollar in a path.
    return path.replace("$", "$$")


def _command(env: Any, images: Sequence[tuple[str, str]]) -> Command:
    flags = [str(flag) for flag in env.get("UPLOADERFLAGS", [])]
    return parse_command(str(env.get("UPLOADCMD", "")), flags, images, str(env.subst("$UPLOAD_PROTOCOL")))


def _run(env: Any, command: Command, arguments: Sequence[str], text: str, more_calls: bool = False) -> int:
    """Runs the upload program, and prints `text`, or its command line with -v. `more_calls`: another call follows.

    The arguments are a list in an SCons variable, so that each stays one argument.
    """
    from SCons.Action import Action  # noqa: PLC0415  (importable inside SCons only)
    from SCons.Script import ARGUMENTS  # noqa: PLC0415

    local = env.Clone(TIGRIS_UPLOAD=list(arguments), ENV={**env["ENV"], MORE_CALLS: "1" if more_calls else ""})
    # env.Execute would substitute the list into one string first.
    shown = {} if int(ARGUMENTS.get("PIOVERBOSE", 0)) else {"cmdstr": text}
    failure = Action(f"{command.program} $TIGRIS_UPLOAD", **shown)([], [], local)
    return int(failure.status or 1) if failure else 0


def _write(env: Any, command: Command, contents: Sequence[tuple[int, Path]]) -> int:
    folder = Path(str(env.subst("$BUILD_DIR")), "tigris", "upload")
    folder.mkdir(parents=True, exist_ok=True)
    for number, pieces in enumerate(upload_calls([(at, path.read_bytes()) for at, path in contents])):
        if not pieces:
            continue
        pairs, total = [], sum(len(data) for _, data in pieces)
        text = f"{('Invalidating the old plans', 'Writing the new plans')[number]} ({total:,} bytes)"
        for at, data in pieces:
            file = folder / f"{('mark', 'plan')[number]}_0x{at:x}.bin"
            file.write_bytes(data)
            pairs.append((hex(at), _escaped(str(file))))
        status = _run(env, command, command.write(pairs), text, more_calls=number == 0)
        if status:
            return status
    return 0


def _report_errors(step: Callable[[], None]) -> int:
    try:
        step()
    except UploadError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


def _check(env: Any, command: Command, table: tuple[str, str] | None) -> None:
    if table is None and not env.get("PIOMAINPROG"):
        raise UploadError(f"-t {TARGET}: leave -t nobuild out; no firmware is built for this target anyway")
    if table is None:
        raise UploadError(f"-t {TARGET}: this platform flashes no partition table; use -t upload")
    if str(env.subst("$UPLOAD_PROTOCOL")) in ("", "esptool"):
        env.AutodetectUploadPort()
    offset, project = table
    found = Path(str(env.subst("$BUILD_DIR")), "tigris", "table_on_board.bin")
    found.parent.mkdir(parents=True, exist_ok=True)
    found.unlink(missing_ok=True)
    read = command.read(offset, hex(TABLE_BYTES), _escaped(str(found)))
    status = _run(env, command, read, "Reading the board's partition table")
    if status != 0 or not found.is_file():
        raise UploadError(f"-t {TARGET}: the board's partition table could not be read; see above. Nothing was written")
    compare_tables(found.read_bytes(), Path(project).read_bytes(), offset)
