"""Instructions that kernels and the executor take, by processor, kernel and what is done. Generated.

Written by `python -m bench.calibrate --write` on 2026-11-23 at commit a90cb2d0162e; counted under QEMU.
rv32imc: riscv64-unknown-elf-gcc (12.2.0-14+deb12u1+11+b2) 12.2.0, -O2
cortex-m4: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
cortex-m7: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
"""

from __future__ import annotations

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "rv32imc": {
        "ADD FLOAT32": {
            "call": 219.4, "row": 77.88, "pixel": 50.51, "element": 151.5,
        },
        "ADD INT8": {
            "call": 266.6, "row": 5.425, "pixel": 13.39, "element": 42.51,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 162.7, "tap": 102.6,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 162.6, "tap": 146.3,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 173.6, "tap": 6.79,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 173.6, "tap": 6.978,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 173.7, "tap": 6.241,
        },
        "BINARY FLOAT32 1": {
            "call": 229, "element": 123.2,
        },
        "BINARY FLOAT32 3": {
            "call": 229, "element": 61.33,
        },
        "BINARY FLOAT32 4": {
            "call": 229, "element": 52.82,
        },
        "BINARY FLOAT32 7": {
            "call": 763400,
        },
        "COMMIT INT8": {
            "call": 248.1, "pixel": 0.04825, "element": 0.7365,
        },
        "CONCAT INT8": {
            "call": 332.1, "pixel": 1.111, "element": 0.03736,
        },
        "CONV_2D FLOAT32": {
            "call": 351.6, "row": 4953, "pixel": 997.9, "group": 156.3, "output": 0.07671, "block run": 321.6,
            "block tap": 173.2, "rest run": 11690,
        },
        "CONV_2D INT8": {
            "call": 240, "row": 163.1, "pair": 64.92, "group": 207.4, "run": 66.07, "tap": 6.224, "batch": 124.4,
            "block": 41.1, "block tap": 19.83, "block rest": 29.54, "channel": 318.7, "output": 41.06, "three": 213.1,
            "three output": 84.13, "three tap": 7.749, "single": 347.6, "single output": 21.4, "single tap": 3.338,
        },
        "COPY FLOAT32": {
            "call": 165,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 1279, "row": 2874, "pixel": 2790, "output": 57.36, "tap": 173.7,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 326.7, "channel": 2.105, "walk": 62.44, "line": 94.78, "line of stride 2": 72.54,
            "line output": 38.75, "line output of stride 2": 44.71, "plain row": 65.67, "plain row output": 39.63,
            "pixel": 209.2, "pixel channel": 565.1, "pixel block": 75.95, "pixel run": 78.69, "pixel tap": 19.13,
        },
        "DEQUANTIZE INT8": {
            "call": 181.1, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 250, "element": 39.33,
        },
        "EXTREME INT8": {
            "call": 201.1, "element": 8.688,
        },
        "FETCH INT8": {
            "call": 122.2,
        },
        "FULLY_CONNECTED FLOAT32": {
            "output": 653, "tap": 164.8, "rest tap": 823.2,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 558.2, "output": 15.09, "eight tap": 3.234, "two tap": 3.754, "rest": 45.74,
        },
        "LOOKUP INT8": {
            "call": 183.9, "row": 0.09479, "pixel": 0.01856, "element": 6.999,
        },
        "MAT_MUL FLOAT32": {
            "row": 67.41, "output": 179.2, "read": 0.7043, "product": 191.6,
        },
        "MAT_MUL INT8": {
            "call": 1205, "output": 30.9, "read": 0.1599, "product": 3.508,
        },
        "MAX_POOL FLOAT32": {
            "call": 162.7, "tap": 38.95,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 162.6, "tap": 56.4,
        },
        "MAX_POOL INT8": {
            "call": 720.9, "tap": 4.915,
        },
        "MAX_POOL INT8 2x2": {
            "call": 292, "tap": 5.119,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 2805, "read": 4.729,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1105, "element": 18.37,
        },
        "MUL FLOAT32": {
            "call": 87.74, "row": 107.9, "pixel": 96.73, "element": 185.1,
        },
        "MUL INT8": {
            "call": 524.4, "element": 21.31,
        },
        "NORMALISE INT8": {
            "call": 372.3, "element": 28.02,
        },
        "PRELU INT8": {
            "call": 156200,
        },
        "QUANTIZE INT8": {
            "call": 183, "element": 60,
        },
        "REDUCE FLOAT32 1": {
            "call": 192.9, "read": 349.7,
        },
        "REDUCE FLOAT32 2": {
            "read": 355.5,
        },
        "REDUCE FLOAT32 3": {
            "call": 445400,
        },
        "REDUCE INT8 1": {
            "call": 201.9, "read": 5.117,
        },
        "REDUCE INT8 2": {
            "call": 2.815, "read": 5.545,
        },
        "REDUCE INT8 3": {
            "call": 31700,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 168.5, "element": 1196,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 168.6, "element": 3694,
        },
        "RESAMPLE INT8 2x2": {
            "call": 163.5, "element": 34.46,
        },
        "RESAMPLE INT8 4x4": {
            "call": 171.6, "element": 88.91,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 393,
        },
        "SCALE_SUMS INT8": {
            "call": 262,
        },
        "SELECT FLOAT32": {
            "call": 335.4, "element": 6.772,
        },
        "SELECT FLOAT32 by channel": {
            "call": 246.9, "element": 22.29,
        },
        "SELECT INT8": {
            "row": 78.72, "pixel": 71.58,
        },
        "SELECT INT8 by channel": {
            "call": 246.9, "element": 10.04,
        },
        "SOFTMAX FLOAT32": {
            "element": 2058,
        },
        "SOFTMAX INT8": {
            "call": 185.6, "row": 11.65, "pixel": 237.5, "element": 36.85,
        },
        "SUB FLOAT32": {
            "call": 226, "element": 143.4,
        },
        "SUB INT8": {
            "call": 253, "element": 42.71,
        },
        "SUM_MAP FLOAT32": {
            "read": 67.57,
        },
        "SUM_MAP INT8": {
            "call": 163.5, "block": 13.75, "cleared": 16.08, "read": 2.751,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 224, "product": 158,
        },
        "SUM_PRODUCTS INT8": {
            "call": 200, "product": 4.11,
        },
        "TRANSPOSE FLOAT32": {
            "call": 290, "element": 19.21,
        },
        "TRANSPOSE INT8": {
            "call": 299.9, "element": 4.286,
        },
        "UNARY FLOAT32 2": {
            "call": 200, "element": 2281,
        },
        "UNARY FLOAT32 4": {
            "call": 190.1, "row": 4.638, "element": 91.39,
        },
        "UNARY FLOAT32 6": {
            "call": 2.723e+06,
        },
        "VECTOR FLOAT32 1": {
            "call": 857.3, "element": 745.9,
        },
        "VECTOR FLOAT32 7": {
            "call": 207, "element": 96.99,
        },
        "executor": {
            "stage": 167.7, "view": 192.6, "operator": 24.36, "band": 30.2, "band operand": 420, "call": 216.8,
            "move": 144.9, "moved byte": 0.6369, "copy": 243, "copied byte": 0.8282, "decompressed block": 6.945,
            "copied block": 0.6789,
        },
    },
    "cortex-m4": {
        "ADD FLOAT32": {
            "call": 257.3, "row": 31.97, "pixel": 17.06, "element": 19,
        },
        "ADD INT8": {
            "call": 306, "row": 28.64, "pixel": 22.94, "element": 45,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 173.3, "tap": 14.65,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 176, "tap": 24.81,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 184, "tap": 5.988,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 192, "tap": 8.072,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 181.3, "tap": 6.545,
        },
        "BINARY FLOAT32 1": {
            "call": 261.3, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 253.3, "element": 16.16,
        },
        "BINARY FLOAT32 4": {
            "call": 258.7, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143100,
        },
        "COMMIT INT8": {
            "call": 254.8, "row": 1.727, "element": 0.7265,
        },
        "CONCAT INT8": {
            "call": 388.9, "pixel": 0.9003, "element": 0.07577,
        },
        "CONV_2D FLOAT32": {
            "call": 208.9, "row": 28.55, "pixel": 105.4, "group": 145.8, "output": 0.000399, "block run": 65.12,
            "block tap": 2.752, "rest run": 176.8,
        },
        "CONV_2D INT8": {
            "call": 290.9, "row": 155, "pair": 24.45, "group": 308.9, "run": 93.62, "tap": 7.878, "block": 58.03,
            "block tap": 8.951, "block rest": 17.28, "channel": 170.9, "output": 31.71, "unusual output": 17.72,
            "three": 212.2, "three output": 63.42, "three tap": 3.102, "single": 471.2, "single output": 16.37,
            "single tap": 1.619,
        },
        "COPY FLOAT32": {
            "call": 216.4,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 249.3, "row": 64.13, "pixel": 63.06, "output": 48.39, "run": 11.15, "tap": 7.92,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 405.7, "channel": 16.73, "walk": 73.8, "line": 98.91, "line of stride 2": 94.25,
            "line output": 25.48, "line output of stride 2": 35.79, "plain row": 153.1, "pixel": 157.5,
            "pixel channel": 684.2, "pixel block": 71.36, "pixel run": 87.02, "pixel tap": 12.95,
        },
        "DEQUANTIZE INT8": {
            "call": 213.3, "element": 8.997,
        },
        "DIVIDE INT8": {
            "call": 288, "element": 42.38,
        },
        "EXTREME INT8": {
            "call": 256, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 127.4,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 247, "output": 123.3, "tap": 8.041, "rest tap": 7.565,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 521.1, "batch tap": 1.81, "output": 16.56, "eight tap": 1.476, "two tap": 2.182, "rest": 42.08,
        },
        "LOOKUP INT8": {
            "call": 200.6, "row": 0.2307, "pixel": 0.1254, "element": 5.007,
        },
        "MAT_MUL FLOAT32": {
            "call": 376.1, "output": 37.42, "product": 12.88,
        },
        "MAT_MUL INT8": {
            "call": 1279, "output": 30.36, "read": 0.8286, "product": 2.721,
        },
        "MAX_POOL FLOAT32": {
            "call": 173.3, "tap": 15.75,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 176, "tap": 24.32,
        },
        "MAX_POOL INT8": {
            "call": 695.4, "tap": 7.179,
        },
        "MAX_POOL INT8 2x2": {
            "call": 311.1, "tap": 6.502,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 437.3, "read": 0.4326,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1108, "element": 24.62,
        },
        "MUL FLOAT32": {
            "call": 266.7, "row": 30.83, "pixel": 17.21, "element": 18.99,
        },
        "MUL INT8": {
            "call": 1002, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 364.6, "element": 32.19,
        },
        "PRELU INT8": {
            "call": 171300,
        },
        "QUANTIZE INT8": {
            "call": 218.7, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 218.7, "read": 23.87,
        },
        "REDUCE FLOAT32 2": {
            "read": 24.22,
        },
        "REDUCE FLOAT32 3": {
            "call": 98680,
        },
        "REDUCE INT8 1": {
            "call": 216, "read": 5.94,
        },
        "REDUCE INT8 2": {
            "call": 133.2, "read": 6.185,
        },
        "REDUCE INT8 3": {
            "call": 48040,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 190, "element": 189.8,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 187.5, "element": 465.1,
        },
        "RESAMPLE INT8 2x2": {
            "call": 170, "element": 34.89,
        },
        "RESAMPLE INT8 4x4": {
            "call": 147.5, "element": 78.82,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 216.4,
        },
        "SCALE_SUMS INT8": {
            "call": 320,
        },
        "SELECT FLOAT32": {
            "call": 363.8, "element": 6.202,
        },
        "SELECT FLOAT32 by channel": {
            "call": 266.7, "element": 23.52,
        },
        "SELECT INT8": {
            "row": 84.02, "pixel": 76.47,
        },
        "SELECT INT8 by channel": {
            "call": 266.7, "element": 10.89,
        },
        "SOFTMAX FLOAT32": {
            "call": 189.4, "element": 92.66,
        },
        "SOFTMAX INT8": {
            "call": 204.2, "pixel": 222.3, "element": 32.3,
        },
        "SUB FLOAT32": {
            "call": 256, "element": 19.6,
        },
        "SUB INT8": {
            "call": 304, "element": 45.77,
        },
        "SUM_MAP FLOAT32": {
            "call": 158.2, "read": 6.18,
        },
        "SUM_MAP INT8": {
            "call": 219.2, "block": 9.422, "cleared": 2.17, "read": 2.755,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 245.7, "product": 8.636,
        },
        "SUM_PRODUCTS INT8": {
            "call": 232.7, "product": 3.009,
        },
        "TRANSPOSE FLOAT32": {
            "call": 378.2, "element": 19.45,
        },
        "TRANSPOSE INT8": {
            "call": 387.8, "row": 1.612, "element": 3.788,
        },
        "UNARY FLOAT32 2": {
            "call": 216, "element": 84.09,
        },
        "UNARY FLOAT32 4": {
            "call": 215.4, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182400,
        },
        "VECTOR FLOAT32 1": {
            "call": 292.2, "element": 36.57,
        },
        "VECTOR FLOAT32 7": {
            "call": 220, "element": 30.81,
        },
        "executor": {
            "stage": 215.5, "view": 122.8, "operator": 49.24, "band": 62.96, "band operand": 439.5, "call": 197.9,
            "move": 142.2, "moved byte": 0.5809, "copy": 247.5, "copied byte": 0.6751, "decompressed block": 5.962,
            "copied block": 0.5234,
        },
    },
    "cortex-m7": {
        "ADD FLOAT32": {
            "call": 262.7, "row": 31.84, "pixel": 16.91, "element": 17.01,
        },
        "ADD INT8": {
            "call": 306.8, "row": 37.56, "pixel": 24.94, "element": 45.01,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 184, "tap": 14.43,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 176, "tap": 24.31,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 184, "tap": 6.535,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 200, "tap": 8.32,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 192, "tap": 6.437,
        },
        "BINARY FLOAT32 1": {
            "call": 264, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 261.3, "element": 16.16,
        },
        "BINARY FLOAT32 4": {
            "call": 264, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143200,
        },
        "COMMIT INT8": {
            "call": 261.3, "row": 1.861, "element": 0.7296,
        },
        "CONCAT INT8": {
            "call": 400, "pixel": 0.9144, "element": 0.07095,
        },
        "CONV_2D FLOAT32": {
            "call": 207.9, "row": 30.5, "pixel": 105.4, "group": 145, "output": 0.0004085, "block run": 65.09,
            "block tap": 2.752, "rest run": 177.3,
        },
        "CONV_2D INT8": {
            "call": 287.4, "row": 167.5, "pair": 59.99, "group": 282.6, "run": 93.19, "tap": 7.714, "block": 61.41,
            "block tap": 9.016, "block rest": 16.72, "channel": 167.8, "output": 31.78, "unusual output": 17.86,
            "three": 201.8, "three output": 64.54, "three tap": 3.224, "single": 468.8, "single output": 16.46,
            "single tap": 1.625,
        },
        "COPY FLOAT32": {
            "call": 200,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 250.7, "row": 62.39, "pixel": 63.05, "output": 48.38, "run": 11.16, "tap": 7.912,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 425.1, "channel": 17.58, "walk": 76.63, "line": 99.22, "line of stride 2": 94.35,
            "line output": 25.93, "line output of stride 2": 36.73, "plain row": 154.2, "pixel": 159.6,
            "pixel channel": 684.6, "pixel block": 71.27, "pixel run": 91.17, "pixel tap": 12.93,
        },
        "DEQUANTIZE INT8": {
            "call": 208, "element": 9.003,
        },
        "DIVIDE INT8": {
            "call": 296, "element": 43.43,
        },
        "EXTREME INT8": {
            "call": 261.3, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 138.3,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 260.4, "output": 123.3, "tap": 8.04, "rest tap": 6.887,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 541.9, "batch tap": 1.843, "output": 16.55, "eight tap": 1.474, "two tap": 2.172, "rest": 39.26,
        },
        "LOOKUP INT8": {
            "call": 217.7, "pixel": 0.059, "element": 4.997,
        },
        "MAT_MUL FLOAT32": {
            "call": 379.7, "output": 37.46, "product": 12.87,
        },
        "MAT_MUL INT8": {
            "call": 1273, "output": 30.33, "read": 0.8123, "product": 2.723,
        },
        "MAX_POOL FLOAT32": {
            "call": 181.3, "tap": 15.53,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 184, "tap": 23.83,
        },
        "MAX_POOL INT8": {
            "call": 695.4, "tap": 7.179,
        },
        "MAX_POOL INT8 2x2": {
            "call": 316.4, "tap": 6.517,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 397.9, "read": 0.3947,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1096, "element": 26.79,
        },
        "MUL FLOAT32": {
            "call": 261.9, "row": 30.76, "pixel": 17.31, "element": 16.99,
        },
        "MUL INT8": {
            "call": 1002, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 386, "element": 32.33,
        },
        "PRELU INT8": {
            "call": 171300,
        },
        "QUANTIZE INT8": {
            "call": 221.3, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 210.7, "read": 22.87,
        },
        "REDUCE FLOAT32 2": {
            "read": 23.23,
        },
        "REDUCE FLOAT32 3": {
            "call": 90520,
        },
        "REDUCE INT8 1": {
            "call": 224, "read": 5.622,
        },
        "REDUCE INT8 2": {
            "call": 75.16, "read": 6.03,
        },
        "REDUCE INT8 3": {
            "call": 48000,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 215, "element": 182,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 190, "element": 457.6,
        },
        "RESAMPLE INT8 2x2": {
            "call": 200, "element": 34.87,
        },
        "RESAMPLE INT8 4x4": {
            "call": 195, "element": 79.31,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 216.4,
        },
        "SCALE_SUMS INT8": {
            "call": 320,
        },
        "SELECT FLOAT32": {
            "call": 376.1, "element": 6.222,
        },
        "SELECT FLOAT32 by channel": {
            "call": 264, "element": 24.39,
        },
        "SELECT INT8": {
            "row": 82.23, "pixel": 77.48,
        },
        "SELECT INT8 by channel": {
            "call": 272, "element": 10.83,
        },
        "SOFTMAX FLOAT32": {
            "call": 183.1, "element": 92.52,
        },
        "SOFTMAX INT8": {
            "call": 181.2, "pixel": 258.2, "element": 31.42,
        },
        "SUB FLOAT32": {
            "call": 261.3, "element": 17.6,
        },
        "SUB INT8": {
            "call": 304, "element": 45.77,
        },
        "SUM_MAP FLOAT32": {
            "call": 163.1, "read": 6.178,
        },
        "SUM_MAP INT8": {
            "call": 216.1, "block": 9.965, "cleared": 2.046, "read": 2.757,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 245.7, "product": 8.639,
        },
        "SUM_PRODUCTS INT8": {
            "call": 232.7, "product": 3.029,
        },
        "TRANSPOSE FLOAT32": {
            "call": 382.6, "element": 19.45,
        },
        "TRANSPOSE INT8": {
            "call": 390.6, "row": 1.527, "element": 3.789,
        },
        "UNARY FLOAT32 2": {
            "call": 216, "element": 84.1,
        },
        "UNARY FLOAT32 4": {
            "call": 222.6, "row": 0.2219, "pixel": 0.3129, "element": 12.49,
        },
        "UNARY FLOAT32 6": {
            "call": 182400,
        },
        "VECTOR FLOAT32 1": {
            "call": 296.7, "element": 36.56,
        },
        "VECTOR FLOAT32 7": {
            "call": 225.3, "element": 29.81,
        },
        "executor": {
            "stage": 193.7, "view": 132.9, "operator": 38.57, "band": 56.45, "band operand": 443.4, "call": 198.5,
            "move": 135.6, "moved byte": 0.5794, "copy": 243.7, "copied byte": 0.672, "decompressed block": 6.057,
            "copied block": 0.5244,
        },
    },
}
