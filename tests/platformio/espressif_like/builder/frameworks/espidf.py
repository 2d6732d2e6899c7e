"""ESP-IDF's way: libraries are looked through before the build, and the table is read while scripts are parsed."""

import os
import sys

import flash_images
import gen_table
from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
mcu = board.get("build.mcu")
os.environ.pop("PYTHONPATH", None)

# The include paths that ESP-IDF's own build needs; the build looks through the libraries again.
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
parts = list(gen_table.rows(source))

flash_images.add(env, mcu)
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
