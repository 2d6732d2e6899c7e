"""The target `uploadmodel`: the plans alone, to a board that has this project's partition table. Runs inside SCons.

Or the weights alone, of models that are C. These have no header: the firmware compares their checksum.

Wherever the upload is cut off, no plan is half the old one and half the new one and looks whole: a call of its own
overwrites the sectors with the plans' headers by marks that firmware reads as damage, and headers are written last.
Behind them comes what lies before the first plan: the records of a model with two slots, which say that the other one
counts until they are erased.

The upload command is the platform's own; its list of images is replaced by the plans. What is known of it: UPLOADCMD
is a program and $UPLOADERFLAGS, and these are options, the verb write_flash or write-flash, more options, and pairs of
offset and file (espressif32, pioarduino, the emulated boards).
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
#: The variable that tells emulated boards of another call to come.
GOES_ON = "TIGRIS_UPLOAD_GOES_ON"
VERBS = {"write_flash": "read_flash", "write-flash": "read-flash"}


class UploadError(Exception):
    """The plans cannot be uploaded alone; the message says what to do instead."""


@dataclass(frozen=True)
class Command:
    """The platform's upload command taken apart. `program` is a command line, the others single arguments."""

    program: str
    connection: tuple[str, ...]
    verb: str
    options: tuple[str, ...]

    def write(self, images: Sequence[tuple[str, str]]) -> list[str]:
        """Pairs of offset and file."""
        return [*self.connection, self.verb, *self.options, *itertools.chain.from_iterable(images)]

    def read(self, offset: str, size: str, file: str) -> list[str]:
        return [*self.connection, VERBS[self.verb], offset, size, file]


def take_apart(upload_command: str, flags: Sequence[str], images: Sequence[tuple[str, str]], protocol: str) -> Command:
    """`images` are the pairs that the platform appended to `flags`."""
    verb = next((flag for flag in flags if flag in VERBS), None)
    if verb is None or FLAGS not in upload_command:
        raise UploadError(
            f"-t {TARGET} needs esptool or an emulated board, but this environment uploads by "
            f"{protocol or 'a command of its own'}: use -t upload, or remove upload_protocol and upload_command"
        )
    at = list(flags).index(verb)
    rest = list(flags[at + 1 :])
    pairs = list(itertools.pairwise(rest))
    first = min((pairs.index(image) for image in images if image in pairs), default=len(rest))
    return Command(upload_command.split(FLAGS, maxsplit=1)[0].strip(), tuple(flags[:at]), verb, tuple(rest[:first]))


def differences(device: Sequence[Partition], project: Sequence[Partition]) -> list[str]:
    """One line for each partition that the board has otherwise; empty when the tables are the same."""
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
    """Raises unless both binary tables say the same."""
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
# A header that goes on as erased flash: the mark of an upload that has begun.
MARK_BYTES = _HEAD.size


def plan_starts(image: bytes) -> list[int]:
    """Where plans start in a partition's content: each on a sector of its own."""
    starts, at = [], 0
    while at + _HEAD.size <= len(image):
        magic, *_, total_bytes = _HEAD.unpack_from(image, at)
        if magic == b"TGRS":
            starts.append(at)
        at = align_up(at + (total_bytes if magic == b"TGRS" else 1), SECTOR)
    return starts


def calls(images: Sequence[tuple[int, bytes]]) -> list[list[tuple[int, bytes]]]:
    """What each call of the upload program writes where, in this order; `images` are partitions' contents."""
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
    """`contents` are pairs of offset and the node of a model partition's content; `refusal` says why the firmware that
    was uploaded would refuse the plans, if it would; it reads `headers`, nodes too."""
    images = flashed(env)
    table = table_image(env)

    def check(target: Any, source: Any, env: Any) -> int:
        def steps() -> None:
            refused = refusal()
            if refused:
                raise UploadError(f"-t {TARGET}: {refused}")
            _check(env, _command(env, images), table)

        return _guarded(steps)

    def write(target: Any, source: Any, env: Any) -> int:
        return _write(env, _command(env, images), [(int(at, 0), Path(node.get_abspath())) for at, node in contents])

    env.AddPlatformTarget(
        TARGET,
        [*(node for _, node in contents), *headers, *([env.File(_escaped(table[1]))] if table else [])],
        [env.VerboseAction(check, "Comparing with the board"), env.VerboseAction(write, "Uploading models")],
        "Upload Model",
        "Write the compiled models alone, without the firmware",
    )


def flashed(env: Any) -> list[tuple[str, str]]:
    """Pairs of offset and file, of all that is flashed beside the firmware."""
    return [(str(at), str(env.subst(path))) for at, path in env.get("FLASH_EXTRA_IMAGES", [])]


def table_image(env: Any) -> tuple[str, str] | None:
    """Offset and file of the partition table, where the platform flashes one."""
    return next(((at, path) for at, path in flashed(env) if _is_table(path)), None)


def _is_table(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith("partitions") and name.endswith(".bin")


def _escaped(path: str) -> str:
    # SCons would expand a dollar in a path.
    return path.replace("$", "$$")


def _command(env: Any, images: Sequence[tuple[str, str]]) -> Command:
    flags = [str(flag) for flag in env.get("UPLOADERFLAGS", [])]
    return take_apart(str(env.get("UPLOADCMD", "")), flags, images, str(env.subst("$UPLOAD_PROTOCOL")))


def _run(env: Any, command: Command, arguments: Sequence[str], what: str, more: bool = False) -> int:
    """Runs the upload program, and says `what` that does, or its command line with -v; `more`: another call follows.
    As a list in a variable the arguments keep their borders, whatever is in them."""
    from SCons.Action import Action  # noqa: PLC0415  (importable inside SCons only)
    from SCons.Script import ARGUMENTS  # noqa: PLC0415

    local = env.Clone(TIGRIS_UPLOAD=list(arguments), ENV={**env["ENV"], GOES_ON: "1" if more else ""})
    # env.Execute would substitute the list into one string first.
    shown = {} if int(ARGUMENTS.get("PIOVERBOSE", 0)) else {"cmdstr": what}
    failure = Action(f"{command.program} $TIGRIS_UPLOAD", **shown)([], [], local)
    return int(failure.status or 1) if failure else 0


def _write(env: Any, command: Command, contents: Sequence[tuple[int, Path]]) -> int:
    folder = Path(str(env.subst("$BUILD_DIR")), "tigris", "upload")
    folder.mkdir(parents=True, exist_ok=True)
    for number, pieces in enumerate(calls([(at, path.read_bytes()) for at, path in contents])):
        if not pieces:
            continue
        pairs, total = [], sum(len(data) for _, data in pieces)
        what = f"{('Marking the old plans', 'Writing the new ones')[number]} ({total:,} bytes)"
        for at, data in pieces:
            file = folder / f"{('mark', 'plan')[number]}_0x{at:x}.bin"
            file.write_bytes(data)
            pairs.append((hex(at), _escaped(str(file))))
        status = _run(env, command, command.write(pairs), what, more=number == 0)
        if status:
            return status
    return 0


def _guarded(step: Callable[[], None]) -> int:
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
    status = _run(env, command, read, "Reading its partition table")
    if status != 0 or not found.is_file():
        raise UploadError(f"-t {TARGET}: the board's partition table could not be read; see above. Nothing was written")
    compare_tables(found.read_bytes(), Path(project).read_bytes(), offset)
