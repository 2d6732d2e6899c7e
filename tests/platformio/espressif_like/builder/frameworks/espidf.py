"""Builds like ESP-IDF: it searches libraries before the build, and reads the table while scripts are parsed."""

import os
import re
import sys
from pathlib import Path

import flash_images
import gen_table
from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
mcu = board.get("build.mcu")
os.environ.pop("PYTHONPATH", None)

# The include paths for ESP-IDF's own build; the build searches the libraries again.
for library in env.GetLibBuilders():
    library.get_include_dirs()
DefaultEnvironment().Replace(__PIO_LIB_BUILDERS=None)

shipped = os.path.join(platform.get_package_dir("framework-espidf"), "components", "partition_table")
named = board.get("build.partitions", "partitions_singleapp.csv")
in_package = os.path.join(shipped, named)
env.Replace(PARTITIONS_TABLE_CSV=os.path.abspath(in_package if os.path.isfile(in_package) else named))

source = env.subst("$PARTITIONS_TABLE_CSV")
if not os.path.isfile(source):
    sys.stderr.write(f"Missing partition table file `{source}`\n")
    env.Exit(1)
# CMake makes the settings from the defaults and its arguments.
made = os.path.join(env.subst("$PROJECT_DIR"), f"sdkconfig.{env['PIOENV']}")
if not os.path.isfile(made):
    defaults = os.path.join(env.subst("$PROJECT_DIR"), board.get("build.cmake_extra_args", "sdkconfig.defaults"))
    Path(made).write_text(Path(defaults).read_text("utf-8") if os.path.isfile(defaults) else "", "utf-8")
setting = re.search(r"^CONFIG_PARTITION_TABLE_OFFSET=(\w+)", Path(made).read_text("utf-8"), re.MULTILINE)
table_at = setting[1] if setting else "0x8000"
parts = list(gen_table.rows(source, int(table_at, 0)))

flash_images.add(env, mcu, board.get("upload.partition_table_offset", table_at))
for _name, kind, subtype, offset, size in parts:
    if (kind, subtype) == (1, 0):
        empty = env.Command(
            os.path.join("$BUILD_DIR", "ota_data_initial.bin"),
            [],
            f"\"$PYTHONEXE\" -c \"open(r'$TARGET', 'wb').write(bytes([255]) * {size})\"",
        )
        env.Depends("$BUILD_DIR/$PROGNAME$PROGSUFFIX", empty)
        env.Append(FLASH_EXTRA_IMAGES=[(hex(offset), os.path.join("$BUILD_DIR", "ota_data_initial.bin"))])
env.Append(CPPDEFINES=["LIKE_ESPIDF"])
env.Replace(ESP32_APP_OFFSET=hex(next(offset for _, kind, _, offset, _ in parts if kind == 0)))
