"""Arduino-ESP32's way: which table, which images, and pioarduino's second build with an sdkconfig of one's own."""

import os
import shutil

from SCons.Script import COMMAND_LINE_TARGETS, DefaultEnvironment

env = DefaultEnvironment()
platform = env.PioPlatform()
board = env.BoardConfig()
mcu = board.get("build.mcu")
FRAMEWORK = platform.get_package_dir("framework-arduinoespressif32")
TOOLS = os.path.join(platform.get_dir(), "tools")

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


def child_build():
    """The framework's libraries are built first, by ESP-IDF; then a child does the real build, and this one ends."""
    marker = os.path.join(env.subst("$PROJECT_WORKSPACE_DIR"), "libraries-of-" + env["PIOENV"])
    if os.path.isfile(marker):
        return
    env.SConscript("espidf.py")
    env.Replace(PROJECT_SRC_DIR=os.path.join(platform.get_dir(), "builder", "build_lib"))

    def finish(target, source, env):
        with open(marker, "w", encoding="utf-8") as file:
            file.write("built")
        shutil.rmtree(env.subst("$BUILD_DIR"))
        os.makedirs(env.subst("$BUILD_DIR"))
        targets = " ".join(f'-t "{name}"' for name in COMMAND_LINE_TARGETS if name != "checkprogsize")
        env.Exit(env.Execute(f'"$PYTHONEXE" -m platformio run -e {env["PIOENV"]} {targets}'))

    env.AddPostAction("checkprogsize", finish)
    env["LIKE_LIBRARIES_ONLY"] = True


if env["LIKE_PIOARDUINO"] and env.GetProjectOption("custom_sdkconfig", ""):
    child_build()

if not env.get("LIKE_LIBRARIES_ONLY"):
    env.Append(
        CPPDEFINES=["ARDUINO_ARCH_ESP32"],
        CPPPATH=[os.path.join(FRAMEWORK, "cores", "esp32")],
        FLASH_EXTRA_IMAGES=[
            ("0x1000" if mcu == "esp32" else "0x0000", os.path.join(env.subst("$BUILD_DIR"), "bootloader.bin")),
            ("0x8000", os.path.join(env.subst("$BUILD_DIR"), "partitions.bin")),
            ("0xe000", os.path.join(FRAMEWORK, "tools", "partitions", "boot_app0.bin")),
        ],
    )
    if named.endswith("tinyuf2.csv"):
        env.Append(FLASH_EXTRA_IMAGES=[("0x410000", os.path.join(FRAMEWORK, "tools", "partitions", "boot_app0.bin"))])
    core = os.path.join(FRAMEWORK, "cores", "esp32")
    env.Prepend(LIBS=[env.BuildLibrary(os.path.join("$BUILD_DIR", "FrameworkArduino"), core)])
    env.Replace(PARTITIONS_TABLE_CSV=table_file())
    make_image = f'"$PYTHONEXE" "{TOOLS}/esp_image.py" {mcu} $TARGET'
    bootloader = env.Command(os.path.join("$BUILD_DIR", "bootloader.bin"), [], make_image)
    table = env.Command(
        os.path.join("$BUILD_DIR", "partitions.bin"),
        "$PARTITIONS_TABLE_CSV",
        env.VerboseAction(f'"$PYTHONEXE" "{TOOLS}/gen_table.py" $SOURCE $TARGET', "Generating partitions $TARGET"),
    )
    env.Depends(os.path.join("$BUILD_DIR", "$PROGNAME$PROGSUFFIX"), [bootloader, table])
