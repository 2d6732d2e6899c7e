"""Instructions that kernels and the executor take, by processor, kernel and what is done. Generated.

Written by `python -m bench.calibrate --write` on 2026-11-22 at commit dc778cf79e2b; counted under QEMU.
rv32imc: riscv64-unknown-elf-gcc (12.2.0-14+deb12u1+11+b2) 12.2.0, -O2
cortex-m4: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
cortex-m7: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
"""

from __future__ import annotations

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "rv32imc": {
        "ADD INT8": {
            "call": 268.8, "row": 23.29, "pixel": 20.27, "element": 42.29,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 183.6, "tap": 6.79,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 183.6, "tap": 6.978,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 183.7, "tap": 6.241,
        },
        "CONV_2D FLOAT32": {
            "row": 23620, "pixel": 19.09, "group": 134.4, "output": 0.1139, "block run": 319.6, "block tap": 172.7,
            "rest run": 11710,
        },
        "CONV_2D INT8": {
            "call": 237.3, "row": 110.1, "pair": 46.04, "group": 250.7, "run": 60.47, "tap": 7.125, "batch": 98.76,
            "block": 29.79, "block tap": 19.85, "block rest": 28.52, "channel tap": 6.454, "output": 44.33,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 2133, "row": 4118, "pixel": 2662, "output": 23.2, "tap": 175.9,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 441.9, "channel": 56.46, "walk": 86.05, "line": 78.05, "line of stride 2": 52.65,
            "line output": 39.66, "line output of stride 2": 48.74, "row": 9.674, "pixel": 99.82, "pixel batch": 140.3,
            "pixel block": 32.42, "pixel run": 98.17, "pixel tap": 18.93, "pixel channel": 509.9,
        },
        "DEQUANTIZE INT8": {
            "call": 191.1, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 264.9, "element": 39.33,
        },
        "EXTREME INT8": {
            "call": 216.2, "element": 8.688,
        },
        "FULLY_CONNECTED FLOAT32": {
            "output": 643.8, "tap": 165.6, "rest tap": 794,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 530.5, "output": 23.99, "eight tap": 3.19, "two tap": 3.766, "rest": 46.02, "rest tap": 4.73e-13,
        },
        "LOOKUP INT8": {
            "call": 193.9, "row": 0.06322, "pixel": 0.06397, "element": 6.999,
        },
        "MAT_MUL INT8": {
            "call": 26640, "product": 4.01,
        },
        "MAX_POOL INT8": {
            "call": 231.5, "tap": 4.731,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 10380,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 584, "row": 5.211e-13, "element": 26,
        },
        "MUL INT8": {
            "call": 244, "element": 21.57,
        },
        "NORMALISE INT8": {
            "call": 382.4, "element": 28.02,
        },
        "PRELU INT8": {
            "call": 252.9, "element": 19.04,
        },
        "QUANTIZE INT8": {
            "call": 193, "element": 60,
        },
        "REDUCE INT8 1": {
            "call": 211.6, "read": 5.117,
        },
        "REDUCE INT8 2": {
            "read": 5.464,
        },
        "REDUCE INT8 3": {
            "call": 31720,
        },
        "RESAMPLE INT8": {
            "call": 33810, "element": 35.91,
        },
        "SELECT INT8": {
            "call": 319.3, "row": 135, "element": 2.988,
        },
        "SOFTMAX FLOAT32": {
            "element": 1977,
        },
        "SOFTMAX INT8": {
            "call": 200.6, "pixel": 245.1, "element": 36.71,
        },
        "SUB INT8": {
            "call": 267.9, "element": 42.71,
        },
        "SUM_MAP FLOAT32": {
            "call": 170, "read": 62.95,
        },
        "SUM_MAP INT8": {
            "call": 173, "block": 15.62, "cleared": 16.1, "read": 2.751,
        },
        "TRANSPOSE INT8": {
            "call": 309.4, "element": 4.301,
        },
        "VECTOR FLOAT32 7": {
            "call": 216, "element": 98.17,
        },
        "executor": {
            "stage": 299.4, "view": 82.65, "band operand": 503, "call": 296.3, "moved byte": 5.808, "copy": 1551,
            "copied byte": 4.026,
        },
    },
    "cortex-m4": {
        "ADD INT8": {
            "call": 333.8, "row": 28.79, "pixel": 23.13, "element": 44.99,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 216, "tap": 5.984,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 208, "tap": 8.065,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 208, "tap": 6.546,
        },
        "CONV_2D FLOAT32": {
            "call": 138, "row": 183.5, "pixel": 96.33, "group": 138.1, "output": 0.2154, "block run": 67.61,
            "block tap": 2.747, "rest run": 184.2,
        },
        "CONV_2D INT8": {
            "call": 283.4, "row": 124.4, "group": 294.8, "run": 90.13, "tap": 7.863, "batch": 61.81, "block": 37.02,
            "block tap": 9.078, "block rest": 20.52, "channel": 17.39, "channel tap": 2.457, "output": 33.01,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 272.3, "row": 78.6, "pixel": 62.91, "output": 47.97, "run": 11.18, "tap": 7.933,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 548.2, "channel": 27.57, "walk": 103.1, "line": 89.56, "line of stride 2": 71.76,
            "line output": 26.12, "line output of stride 2": 36.18, "row": 14.05, "pixel": 101.8, "pixel batch": 133.5,
            "pixel block": 30.84, "pixel run": 93.84, "pixel tap": 12.91, "pixel channel": 648.3,
        },
        "DEQUANTIZE INT8": {
            "call": 232, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 312, "element": 42.39,
        },
        "EXTREME INT8": {
            "call": 281.3, "element": 10.45,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 276.8, "output": 105.5, "tap": 8.009, "rest tap": 7.348,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 534.7, "batch tap": 1.678, "output": 21.01, "eight tap": 1.489, "two tap": 2.248, "rest": 39.9,
            "rest tap": 8.92e-13,
        },
        "LOOKUP INT8": {
            "call": 239.7, "row": 0.06284, "pixel": 0.008536, "element": 4.998,
        },
        "MAT_MUL INT8": {
            "call": 26420, "product": 3.25,
        },
        "MAX_POOL INT8": {
            "tap": 6.5,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 1160,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 643.8, "row": 1.291e-12, "element": 30.8,
        },
        "MUL INT8": {
            "call": 306.7, "element": 23.83,
        },
        "NORMALISE INT8": {
            "call": 392.2, "element": 32.19,
        },
        "PRELU INT8": {
            "call": 304, "element": 20.88,
        },
        "QUANTIZE INT8": {
            "call": 245.3, "element": 28,
        },
        "REDUCE INT8 1": {
            "call": 240, "read": 5.937,
        },
        "REDUCE INT8 2": {
            "call": 7.699, "read": 6.2,
        },
        "REDUCE INT8 3": {
            "call": 48080,
        },
        "RESAMPLE INT8": {
            "call": 30440, "element": 36.87,
        },
        "SELECT INT8": {
            "call": 362.3, "row": 152.2, "element": 3.122,
        },
        "SOFTMAX FLOAT32": {
            "call": 199.5, "element": 96.37,
        },
        "SOFTMAX INT8": {
            "call": 211.4, "pixel": 230.1, "element": 32.2,
        },
        "SUB INT8": {
            "call": 330.7, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 201.7, "read": 6.114,
        },
        "SUM_MAP INT8": {
            "call": 211.5, "block": 13.59, "cleared": 1.718, "read": 2.755,
        },
        "TRANSPOSE INT8": {
            "call": 410.8, "row": 1.582, "element": 3.776,
        },
        "VECTOR FLOAT32 7": {
            "call": 237.3, "element": 30.82,
        },
        "executor": {
            "stage": 319.1, "view": 4.898, "band operand": 466, "call": 326.9, "moved byte": 0.6479, "copy": 504.3,
            "copied byte": 0.4926,
        },
    },
    "cortex-m7": {
        "ADD INT8": {
            "call": 322.1, "row": 37.94, "pixel": 25.06, "element": 45,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 200, "tap": 6.533,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 200, "tap": 8.354,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 205.3, "tap": 6.438,
        },
        "CONV_2D FLOAT32": {
            "call": 137.2, "row": 177.7, "pixel": 96.14, "group": 138.2, "output": 0.2141, "block run": 67.57,
            "block tap": 2.747, "rest run": 184.6,
        },
        "CONV_2D INT8": {
            "call": 281.3, "row": 116.6, "group": 297.1, "run": 89.77, "tap": 7.727, "batch": 61.81, "block": 42.28,
            "block tap": 9.112, "block rest": 19.85, "channel": 25.52, "channel tap": 2.299, "output": 32.96,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 261.7, "row": 77.43, "pixel": 62.84, "output": 47.97, "run": 11.19, "tap": 7.926,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 545.2, "channel": 25.7, "walk": 102.2, "line": 92.17, "line of stride 2": 72.14,
            "line output": 26.14, "line output of stride 2": 36.17, "row": 14.09, "pixel": 112.8, "pixel batch": 114.8,
            "pixel block": 30.61, "pixel run": 98.45, "pixel tap": 12.84, "pixel channel": 649.2,
            "pixel channel tap": 7.225e-15,
        },
        "DEQUANTIZE INT8": {
            "call": 229.3, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 304, "element": 43.42,
        },
        "EXTREME INT8": {
            "call": 277.3, "element": 10.45,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 276.8, "output": 105.5, "tap": 8.007, "rest tap": 7.394,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 530.5, "batch tap": 1.649, "output": 20.58, "eight tap": 1.487, "two tap": 2.273, "rest": 40.26,
            "rest tap": 1.037e-12,
        },
        "LOOKUP INT8": {
            "call": 238.8, "element": 4.99,
        },
        "MAT_MUL INT8": {
            "call": 26450, "product": 3.25,
        },
        "MAX_POOL INT8": {
            "tap": 6.511,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 1009, "read": 7.072e-17,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 649.2, "row": 3.458e-13, "element": 32.76,
        },
        "MUL INT8": {
            "call": 305.3, "element": 23.83,
        },
        "NORMALISE INT8": {
            "call": 398.1, "element": 32.32,
        },
        "PRELU INT8": {
            "call": 306.7, "element": 20.87,
        },
        "QUANTIZE INT8": {
            "call": 234.7, "element": 28,
        },
        "REDUCE INT8 1": {
            "call": 216, "read": 5.628,
        },
        "REDUCE INT8 2": {
            "read": 5.999,
        },
        "REDUCE INT8 3": {
            "call": 47960,
        },
        "RESAMPLE INT8": {
            "call": 30650, "element": 36.83,
        },
        "SELECT INT8": {
            "call": 346.8, "row": 142.3, "element": 3.158,
        },
        "SOFTMAX FLOAT32": {
            "call": 186.4, "element": 95.82,
        },
        "SOFTMAX INT8": {
            "call": 221.1, "row": 25.14, "pixel": 196, "element": 33.04,
        },
        "SUB INT8": {
            "call": 325.3, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 202.2, "read": 6.112,
        },
        "SUM_MAP INT8": {
            "call": 279.1, "block": 9.018, "cleared": 2.716, "read": 2.744,
        },
        "TRANSPOSE INT8": {
            "call": 406.2, "row": 1.769, "element": 3.773,
        },
        "VECTOR FLOAT32 7": {
            "call": 242.7, "element": 29.81,
        },
        "executor": {
            "stage": 321.6, "view": 8.115, "band operand": 472.1, "call": 326.3, "moved byte": 0.6412, "copy": 502.3,
            "copied byte": 0.4915,
        },
    },
}
