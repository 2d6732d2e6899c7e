"""Builds start-up code, drivers, bootloader and partition table of an emulated board."""

import os
import sys

from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
SUPPORT = os.path.join(platform.get_dir(), "support")


def fail(message):
    sys.stderr.write(f"Error: {message}\n")
    env.Exit(1)


machine_flags = board.get("build.machine_flags")
defines = [*board.get("build.defines"), "BOARD_EMULATED", ("BOARD_FLASH_BYTES", f"{env['BOARD_FLASH_BYTES']}u")]
defines.append(("BOARD_NAME", env.StringifyMacro(board.id)))
env.Append(
    ASFLAGS=machine_flags,
    ASPPFLAGS=["-x", "assembler-with-cpp"],
    CCFLAGS=[*machine_flags, *board.get("build.libc_flags"), "-O2", "-g", "-ffunction-sections", "-fdata-sections"],
    CFLAGS=["-std=gnu11"],
    CXXFLAGS=["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"],
    CPPDEFINES=defines,
    CPPPATH=[os.path.join(SUPPORT, "include")],
    LIBPATH=[os.path.join(SUPPORT, "ld")],
    LINKFLAGS=[*machine_flags, *board.get("build.libc_flags"), "-nostartfiles", "-Wl,--gc-sections"],
    LIBS=["m"],
)
env.Replace(LDSCRIPT_PATH=board.get("build.ldscript"))

# ---- board support -----------------------------------------------------------------------------------------------

core = board.get("build.core")


def support_objects(environment, folder, sources, entry):
    """Objects of start-up code and drivers; `entry` is the C function that the start-up code calls."""
    local = environment.Clone()
    local.Append(CPPDEFINES=[("BOARD_ENTRY", entry)], CCFLAGS=["-Wall", "-Wextra"])
    return [
        local.Object(os.path.join("$BUILD_DIR", folder, source.replace("/", "_") + ".o"), os.path.join(SUPPORT, source))
        for source in sources
    ]


start_sources = ["rv32/start.S"] if core == "rv32" else ["cortex_m/start.c"]
trap_sources = ["rv32/trap.c"] if core == "rv32" else []
common_sources = ["common/start.c", "common/partition.c", "common/console.c", "common/app_main.c", f"{core}/board.c"]
env.Append(PIOBUILDFILES=support_objects(env, "board", start_sources + trap_sources + common_sources, "board_start"))

# ---- bootloader --------------------------------------------------------------------------------------------------

boot_env = env.Clone()
boot_env.Append(CCFLAGS=["-fno-builtin", "-fno-tree-loop-distribute-patterns"])
boot_env.Replace(
    LINKFLAGS=[
        *machine_flags,
        "-nostdlib",
        "-nostartfiles",
        "-Wl,--defsym=board_trap_report=_start",
        "-T",
        board.get("build.bootloader_ldscript"),
    ],
    LIBS=[],
    _LIBFLAGS="",
)
boot_elf = boot_env.Program(
    os.path.join("$BUILD_DIR", "bootloader.elf"),
    support_objects(
        boot_env, "bootloader", [*start_sources, f"{core}/board.c", "bootloader/bootloader.c"], "bootloader_main"
    ),
)
bootloader = boot_env.ElfToBin(os.path.join("$BUILD_DIR", "bootloader"), boot_elf)

# ---- partition table ---------------------------------------------------------------------------------------------

partitions = platform.load_module("tigris_partitions", os.pardir, "partitions.py")
name = board.get("build.partitions", "default.csv")
own_table = os.path.join(platform.get_dir(), "partitions", name)
env.Replace(PARTITIONS_TABLE_CSV=os.path.abspath(own_table if os.path.isfile(own_table) else name))
csv_file = env.subst("$PARTITIONS_TABLE_CSV")
try:
    table = partitions.parse_csv(partitions.read_text(csv_file), csv_file)
    partitions.check(table, env["BOARD_FLASH_BYTES"])
    application = partitions.application(table)
except partitions.PartitionError as error:
    fail(error)
board.update("upload.maximum_size", application.size)
env.Replace(ESP32_APP_OFFSET=hex(application.offset))


def generate_table(target, source, env):
    entries = partitions.parse_csv(partitions.read_text(str(source[0])), str(source[0]))
    with open(str(target[0]), "wb") as file:
        file.write(partitions.to_binary(entries))


partition_table = env.Command(
    os.path.join("$BUILD_DIR", "partitions.bin"),
    env.File(csv_file),
    env.VerboseAction(generate_table, "Generating partitions $TARGET"),
)
env.Depends(os.path.join("$BUILD_DIR", "$PROGNAME$PROGSUFFIX"), [bootloader, partition_table])
env.Append(
    FLASH_EXTRA_IMAGES=[
        (board.get("upload.bootloader_offset"), bootloader[0].get_abspath()),
        (board.get("upload.partition_table_offset"), partition_table[0].get_abspath()),
    ]
)
