"""The images that both frameworks flash before the firmware."""

import os

TOOLS = os.path.dirname(os.path.abspath(__file__))


def add(env, mcu, table_at="0x8000"):
    """Adds the targets of bootloader and partition table, on which the firmware depends."""
    make_image = f'"$PYTHONEXE" "{TOOLS}/esp_image.py" {mcu} $TARGET'
    bootloader = env.Command(os.path.join("$BUILD_DIR", "bootloader.bin"), [], make_image)
    generate = f'"$PYTHONEXE" "{TOOLS}/gen_table.py" $SOURCE $TARGET {table_at}'
    table = env.Command(os.path.join("$BUILD_DIR", "partitions.bin"), "$PARTITIONS_TABLE_CSV",
                        env.VerboseAction(generate, "Generating partitions $TARGET"))  # fmt: skip
    env.Depends("$BUILD_DIR/$PROGNAME$PROGSUFFIX", [bootloader, table])
    first = ("0x1000" if mcu == "esp32" else "0x0", bootloader[0].get_abspath())
    env.Append(FLASH_EXTRA_IMAGES=[first, (table_at, table[0].get_abspath())])
