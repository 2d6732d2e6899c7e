"""Builds and uploads an application for an emulated board.

The order is that of PlatformIO's espressif32 platform, so that scripts for it work here. The framework's script reads
the board option build.partitions. Then the library dependency finder runs, FLASH_EXTRA_IMAGES go to the upload command,
and post scripts run.
"""

import os
import shutil
import sys
from pathlib import Path

from SCons.Script import COMMAND_LINE_TARGETS, AlwaysBuild, Builder, Default, DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
environment = env["PIOENV"]
board_process = platform.board_process()

TOOLCHAIN_PACKAGES = {
    "riscv64-unknown-elf": "binutils-riscv64-unknown-elf gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    "arm-none-eabi": "binutils-arm-none-eabi gcc-arm-none-eabi libnewlib-arm-none-eabi",
}


def fail(message):
    sys.stderr.write(f"Error: {message}\n")
    env.Exit(1)


def flash_bytes():
    text = str(board.get("upload.flash_size")).upper()
    if text.endswith("MB") and text[:-2].isdigit():
        return int(text[:-2]) << 20
    return fail(f"board_upload.flash_size = {text}: give whole megabytes, such as 4MB")


toolchain = board.get("build.toolchain")
for tool in ("gcc", "gcc-ar", "gcc-ranlib", "objcopy", "size"):
    if shutil.which(f"{toolchain}-{tool}", path=env["ENV"].get("PATH")) is None:
        fail(
            f"{toolchain}-{tool} is not installed; board {board.id} needs it. "
            f"On Debian or Ubuntu: sudo apt install {TOOLCHAIN_PACKAGES[toolchain]}"
        )

env.Replace(
    AR=f"{toolchain}-gcc-ar",
    AS=f"{toolchain}-gcc",
    CC=f"{toolchain}-gcc",
    CXX=f"{toolchain}-g++",
    GDB=f"{toolchain}-gdb",
    OBJCOPY=f"{toolchain}-objcopy",
    RANLIB=f"{toolchain}-gcc-ranlib",
    SIZETOOL=f"{toolchain}-size",
    ARFLAGS=["rc"],
    PROGSUFFIX=".elf",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    SIZEPROGREGEXP=r"^(?:\.image_header|\.text|\.rodata|\.ARM\.exidx|\.data|\.tdata)\s+([0-9]+).*",
    SIZEDATAREGEXP=r"^(?:\.data|\.tdata|\.bss)\s+([0-9]+).*",
    SIZEPRINTCMD="$SIZETOOL -B -d $SOURCES",
    ESP32_APP_OFFSET=board.get("upload.offset_address", "0x10000"),
    BOARD_FLASH_BYTES=flash_bytes(),
)
if env.get("PROGNAME", "program") == "program":
    env.Replace(PROGNAME="firmware")

env.Append(
    BUILDERS={
        "ElfToBin": Builder(
            action=env.VerboseAction("$OBJCOPY -O binary $SOURCE $TARGET", "Building $TARGET"), suffix=".bin"
        )
    }
)

if not env.get("PIOFRAMEWORK"):
    fail(f"board {board.id} needs `framework = baremetal` in [env:{environment}]")

# ---- program -----------------------------------------------------------------------------------------------------

if "nobuild" in COMMAND_LINE_TARGETS:
    target_elf = os.path.join("$BUILD_DIR", "${PROGNAME}.elf")
    target_firm = os.path.join("$BUILD_DIR", "${PROGNAME}.bin")
else:
    target_elf = env.BuildProgram()
    target_firm = env.ElfToBin(os.path.join("$BUILD_DIR", "${PROGNAME}"), target_elf)
    env.Depends(target_firm, "checkprogsize")

AlwaysBuild(env.Alias("nobuild", target_firm))
target_buildprog = env.Alias("buildprog", target_firm, target_firm)
env.AddPlatformTarget(
    "size",
    target_elf,
    env.VerboseAction("$SIZEPRINTCMD", "Calculating size $SOURCE"),
    "Program Size",
    "Calculate program size",
)

# ---- upload ------------------------------------------------------------------------------------------------------

folder = board_process.board_folder(env.subst("$PROJECT_WORKSPACE_DIR"), environment)
spec_file = Path(env.subst("$BUILD_DIR")) / "emulator.json"
fixed_port = bool(env.subst("$UPLOAD_PORT"))
if not fixed_port:
    env.Replace(UPLOAD_PORT=platform.port_url(environment))
emulator = board.get("build.emulator")
board_process.write_spec(
    spec_file,
    board_process.Spec(
        emulator["command"], tuple(emulator["args"]), env["BOARD_FLASH_BYTES"], int(emulator["flash_window"])
    ),
)

env.Replace(
    UPLOADER=os.path.join(platform.get_dir(), "tools", "board_process.py"),
    UPLOADERFLAGS=[
        *("--folder", str(folder)),
        *("--spec", str(spec_file)),
        *("--port", "$UPLOAD_PORT"),
        *(["--fixed-port"] if fixed_port else []),
        "write_flash",
    ],
    UPLOADCMD='"$PYTHONEXE" "$UPLOADER" $UPLOADERFLAGS $ESP32_APP_OFFSET "$SOURCE"',
)
for offset, image in env.get("FLASH_EXTRA_IMAGES", []):
    env.Append(UPLOADERFLAGS=[offset, env.subst(image)])

env.AddPlatformTarget("upload", target_firm, [env.VerboseAction("$UPLOADCMD", "Uploading $SOURCE")], "Upload")
env.AddPlatformTarget(
    "stop_board",
    None,
    env.VerboseAction(f'"$PYTHONEXE" "$UPLOADER" stop --folder "{folder}"', "Switching the board off"),
    "Stop board",
    "Switch the emulated board off",
)

Default([target_buildprog, "size"])
