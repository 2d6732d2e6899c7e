"""Runs `esphome` with ESPHome's audio component allowed on the host, where it needs no library of ESP-IDF.

    PYTHON on_host.py compile --only-generate FILE.yaml
"""

import sys

import esphome.config_validation as cv
from esphome.__main__ import main
from esphome.components import audio


async def to_code(config):
    pass


audio.AUTO_LOAD, audio.CONFIG_SCHEMA, audio.to_code = [], cv.Schema({}), to_code
sys.exit(main())
