"""Builds in the order of espressif32 6.13 and, with `custom_like = pioarduino`, of pioarduino 55. This computer's
compiler builds programs against declared interfaces of the frameworks; images, partition table and upload are the
chips'. As in the originals are: when build.partitions and FLASH_EXTRA_IMAGES are read, the form of upload commands,
the steps right after firmware.bin, and pioarduino's narrowed sys.path."""

import os
import stat
import subprocess
import sys

from platformio.util import get_serial_ports
from SCons.Script import COMMAND_LINE_TARGETS, AlwaysBuild, Builder, Default, DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
mcu = board.get("build.mcu")
pioarduino = env.GetProjectOption("custom_like", "espressif32") == "pioarduino"
TOOLS = os.path.join(platform.get_dir(), "tools")
CHIP = os.path.join(platform.get_dir(), "chip")
TESTS = os.path.realpath(os.path.join(platform.get_dir(), "..", ".."))
STUBS = os.path.join(TESTS, "esp_idf", "stubs")
ESPTOOL = os.path.join(platform.get_package_dir("tool-esptoolpy"), "esptool.py")
# Packages that pioarduino's PlatformIO environment lacks.
FOREIGN = ("tigris_pio", "__editable__", "numpy", "onnx", "lz4", "rich", "pip")


def narrow_python_paths():
    """pioarduino's environment has no foreign site-packages in sys.path; esptool is a program in it."""
    packages = os.path.join(env.subst("$PROJECT_CORE_DIR"), "penv", "lib", "site-packages")
    os.makedirs(packages, exist_ok=True)
    for folder in [path for path in sys.path if "site-packages" in path.lower() and os.path.isdir(path)]:
        for name in os.listdir(folder):
            link = os.path.join(packages, name)
            if not name.startswith(FOREIGN) and not name.endswith(".pth") and not os.path.lexists(link):
                os.symlink(os.path.join(folder, name), link)
    sys.path[:] = [packages, *[path for path in sys.path if "site-packages" not in path.lower()]]
    program = os.path.join(env.subst("$PROJECT_CORE_DIR"), "penv", "esptool")
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{env.subst("$PYTHONEXE")}" "{ESPTOOL}" "$@"\n')
    os.chmod(program, stat.S_IRWXU)
    return program


esptool_program = narrow_python_paths() if pioarduino else None


sys.path.insert(0, TOOLS)
import gen_table  # noqa: E402


def update_maximum_size(target, source, env):
    rows = gen_table.rows(env.subst("$PARTITIONS_TABLE_CSV"))
    board.update("upload.maximum_size", next(size for _, kind, *_, size in rows if kind == 0))


env.Replace(
    LIKE_PIOARDUINO=pioarduino,
    AR="ar", CC="gcc", CXX="g++", RANLIB="ranlib", SIZETOOL="size", OBJCOPY=ESPTOOL,
    ASPPCOM="$CC -x c -c -o $TARGET /dev/null",  # pie_in_c.c replaces the chip's assembly
    ARFLAGS=["rc"],
    SIZEPROGREGEXP=r"^(?:\.text|\.rodata|\.data)\s+([0-9]+).*",
    SIZEDATAREGEXP=r"^(?:\.data|\.bss)\s+([0-9]+).*",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    SIZEPRINTCMD="$SIZETOOL -B -d $SOURCES",
    ESP32_APP_OFFSET=board.get("upload.offset_address", "0x10000"),
    PROGSUFFIX=".elf",
)  # fmt: skip
env.SetDefault(INTEGRATION_EXTRA_DATA={})
if env.get("PROGNAME", "program") == "program":
    env.Replace(PROGNAME="firmware")
env.Append(
    CPPDEFINES=[
        "ESP_PLATFORM", "_GNU_SOURCE", ("TIGRIS_TENSOR_ALIGN", "8"), ("CONFIG_IDF_TARGET", env.StringifyMacro(mcu)),
    ],
    CPPPATH=[STUBS, CHIP],
    CCFLAGS=["-O0", "-Wall", "-ffunction-sections", "-fdata-sections"],
    LINKFLAGS=["-s", "-Wl,--gc-sections"],
    LIBS=["m"],
    BUILDERS={
        "ElfToBin": Builder(
            action=env.VerboseAction(f'"$PYTHONEXE" "{TOOLS}/esp_image.py" {mcu} $TARGET $SOURCE', "Building $TARGET"),
            suffix=".bin",
        )
    },
)

# ---- program -----------------------------------------------------------------------------------------------------

if "nobuild" in COMMAND_LINE_TARGETS:
    target_elf = os.path.join("$BUILD_DIR", "${PROGNAME}.elf")
    target_firm = os.path.join("$BUILD_DIR", "${PROGNAME}.bin")
else:
    include = [os.path.join(TESTS, "..", "runtime", "include")]
    parts = [(CHIP, "chip"), (CHIP, "sensors"), (CHIP, "esp_idf"), (STUBS, "flash")]
    for folder, part in [*parts, *([(os.path.join(TESTS, "runtime"), "pie_in_c")] if mcu == "esp32s3" else ())]:
        made, source = os.path.join("$BUILD_DIR", f"{part}.o"), os.path.join(folder, f"{part}.c")
        env.Append(PIOBUILDFILES=env.Object(made, source, CPPPATH=[STUBS, CHIP, *include]))
    target_elf = env.BuildProgram()
    target_firm = env.ElfToBin(os.path.join("$BUILD_DIR", "${PROGNAME}"), target_elf)
    env.Depends(target_firm, "checkprogsize")


def merge_factory_image(target, source, env):
    """Merges all images into one file right after firmware.bin; a missing image is only reported."""
    factory = env.subst("$BUILD_DIR/${PROGNAME}.factory.bin")
    command = ["--chip", mcu, "merge-bin", "-o", factory, "--flash-size", "keep"]
    for offset, image in env.get("FLASH_EXTRA_IMAGES", []):
        command += [offset, env.subst(image)]
    command += [env.subst("$ESP32_APP_OFFSET"), env.subst("$BUILD_DIR/${PROGNAME}.bin")]
    done = subprocess.run([esptool_program, *command], check=False, capture_output=True, text=True)
    print("Successfully created combined binary image." if done.returncode == 0 else f"merge-bin failed {done.stderr}")


if pioarduino and "nobuild" not in COMMAND_LINE_TARGETS:
    env.AddPostAction(target_firm, env.Action(merge_factory_image, cmdstr=None))

AlwaysBuild(env.Alias("nobuild", target_firm))
target_buildprog = env.Alias("buildprog", target_firm, target_firm)
if env.get("PIOMAINPROG"):
    retrieve = env.VerboseAction(update_maximum_size, "Retrieving maximum program size $SOURCES")
    env.AddPreAction("checkprogsize", retrieve)
target_size = env.AddPlatformTarget(
    "size", target_elf, env.VerboseAction("$SIZEPRINTCMD", "Calculating size $SOURCE"), "Program Size", "Program size"
)

# ---- upload ------------------------------------------------------------------------------------------------------


def before_upload(target, source, env):
    env.AutodetectUploadPort()
    get_serial_ports()


def spelled(option):
    return option.replace("-", "_").replace("__", "--") if not pioarduino else option


QUOTED_UPLOADER = '"$PYTHONEXE" "$UPLOADER"'
upload_actions = [env.VerboseAction("$UPLOADCMD", "Uploading $SOURCE")]
connection = ["--chip", mcu, "--port", '"$UPLOAD_PORT"', "--baud", "$UPLOAD_SPEED"]
resets = ["--before", spelled("default-reset"), "--after", spelled("hard-reset")]
image_options = [spelled("--flash-mode"), "dio", spelled("--flash-freq"), "80m", spelled("--flash-size")]
env.Replace(
    UPLOADER=f'"{esptool_program}"' if pioarduino else ESPTOOL,
    UPLOADERFLAGS=[
        *connection, *resets, spelled("write-flash"), "-z", *image_options,
        "detect" if pioarduino else board.get("upload.flash_size", "detect"),
    ],
    UPLOADCMD=f"{'$UPLOADER' if pioarduino else QUOTED_UPLOADER} $UPLOADERFLAGS $ESP32_APP_OFFSET $SOURCE",
)  # fmt: skip
for image in env.get("FLASH_EXTRA_IMAGES", []):
    env.Append(UPLOADERFLAGS=[image[0], env.subst(image[1])])
upload_actions.insert(0, env.VerboseAction(before_upload, "Looking for upload port..."))

env.AddPlatformTarget("upload", target_firm, upload_actions, "Upload")
Default([target_buildprog, target_size])
