"""Chooses table and images like Arduino-ESP32."""

import os

import flash_images
from SCons.Script import DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
mcu = board.get("build.mcu")
FRAMEWORK = platform.get_package_dir("framework-arduinoespressif32")

named = board.get("build.partitions", board.get("build.arduino.partitions", ""))
variants = os.path.join(FRAMEWORK, "variants")
if "build.variants_dir" in board:
    variants = os.path.join(env.subst("$PROJECT_DIR"), board.get("build.variants_dir"))


def first_file(*paths):
    return next((path for path in paths[:-1] if os.path.isfile(path)), paths[-1])


def table_file():
    variant = os.path.join(variants, board.get("build.variant", ""))
    shipped = os.path.join(FRAMEWORK, "tools", "partitions")
    if named:
        return os.path.abspath(first_file(os.path.join(variant, named), os.path.join(shipped, named), named))
    return first_file(os.path.join(variant, "partitions.csv"), os.path.join(shipped, "default.csv"))


env.Replace(PARTITIONS_TABLE_CSV=table_file())
flash_images.add(env, mcu)
env.Append(
    CPPDEFINES=["ARDUINO_ARCH_ESP32"],
    CPPPATH=[os.path.join(FRAMEWORK, "cores", "esp32")],
    FLASH_EXTRA_IMAGES=[("0xe000", os.path.join(FRAMEWORK, "tools", "partitions", "boot_app0.bin"))],
)
if named.endswith("tinyuf2.csv"):
    env.Append(FLASH_EXTRA_IMAGES=[("0x410000", os.path.join(FRAMEWORK, "tools", "partitions", "boot_app0.bin"))])
core = os.path.join(FRAMEWORK, "cores", "esp32")
env.Prepend(LIBS=[env.BuildLibrary(os.path.join("$BUILD_DIR", "FrameworkArduino"), core)])
