"""Instructions that kernels and the executor take, by processor, kernel and what is done. Generated.

Written by `python -m bench.calibrate --write` on 2026-11-23 at commit 97859f4ffd4e; counted under QEMU.
rv32imc: riscv64-unknown-elf-gcc (12.2.0-14+deb12u1+11+b2) 12.2.0, -O2
cortex-m4: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
cortex-m7: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2
"""

from __future__ import annotations

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "rv32imc": {
        "ADD FLOAT32": {
            "call": 216.5, "row": 77.88, "pixel": 50.51, "element": 151.5,
        },
        "ADD INT8": {
            "call": 260, "row": 6.929, "pixel": 13.36, "element": 42.51,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 159.7, "tap": 102.6,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 159.6, "tap": 146.3,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 170.6, "tap": 6.79,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 170.6, "tap": 6.978,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 170.7, "tap": 6.241,
        },
        "BINARY FLOAT32 1": {
            "call": 226, "element": 123.2,
        },
        "BINARY FLOAT32 3": {
            "call": 226, "element": 61.33,
        },
        "BINARY FLOAT32 4": {
            "call": 226, "element": 52.82,
        },
        "BINARY FLOAT32 7": {
            "call": 763400,
        },
        "COMMIT INT8": {
            "call": 191, "element": 6.064,
        },
        "CONCAT INT8": {
            "call": 308.9, "pixel": 5.782,
        },
        "CONV_2D FLOAT32": {
            "call": 3086, "row": 21970, "pixel": 8.238, "group": 143.6, "output": 0.1103, "block run": 321.1,
            "block tap": 172.6, "rest run": 11690,
        },
        "CONV_2D INT8": {
            "call": 189.2, "row": 36.65, "pair": 61.92, "group": 212, "run": 65.04, "tap": 6.355, "batch": 127,
            "block": 38.86, "block tap": 19.84, "block rest": 29.64, "channel": 17.48, "channel tap": 6.564,
            "output": 41.75,
        },
        "COPY FLOAT32": {
            "call": 162,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 2896, "row": 4286, "pixel": 2678, "output": 20.18, "tap": 175.9,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 288.6, "channel": 73.28, "walk": 72.76, "line": 71.09, "line of stride 2": 51.87,
            "line output": 40.06, "line output of stride 2": 48.84, "pixel": 221.8, "pixel channel": 565,
            "pixel block": 84.28, "pixel run": 78.25, "pixel tap": 19.17,
        },
        "DEQUANTIZE INT8": {
            "call": 178.1, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 247, "element": 39.33,
        },
        "EXTREME INT8": {
            "call": 198.1, "element": 8.688,
        },
        "FETCH INT8": {
            "call": 119.2,
        },
        "FULLY_CONNECTED FLOAT32": {
            "output": 633.9, "tap": 164.5, "rest tap": 826.4,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 528.7, "output": 21.37, "eight tap": 3.203, "two tap": 3.739, "rest": 47.86,
            "rest tap": 1.174e-13,
        },
        "LOOKUP INT8": {
            "call": 180.9, "row": 0.09529, "pixel": 0.01716, "element": 6.999,
        },
        "MAT_MUL FLOAT32": {
            "row": 67.37, "output": 179.2, "read": 0.7013, "product": 191.6,
        },
        "MAT_MUL INT8": {
            "call": 1205, "output": 30.89, "read": 0.1732, "product": 3.508,
        },
        "MAX_POOL FLOAT32": {
            "call": 159.7, "tap": 38.95,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 159.6, "tap": 56.4,
        },
        "MAX_POOL INT8": {
            "call": 717.7, "tap": 4.916,
        },
        "MAX_POOL INT8 2x2": {
            "call": 269.3, "tap": 5.274,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 2802, "read": 4.729,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1103, "element": 18.2,
        },
        "MUL FLOAT32": {
            "call": 84.74, "row": 107.9, "pixel": 96.73, "element": 185.1,
        },
        "MUL INT8": {
            "call": 521.4, "element": 21.31,
        },
        "NORMALISE INT8": {
            "call": 369.3, "element": 28.02,
        },
        "PRELU INT8": {
            "call": 156200,
        },
        "QUANTIZE INT8": {
            "call": 180, "element": 60,
        },
        "REDUCE FLOAT32 1": {
            "call": 189.9, "read": 349.7,
        },
        "REDUCE FLOAT32 2": {
            "read": 355.5,
        },
        "REDUCE FLOAT32 3": {
            "call": 445400,
        },
        "REDUCE INT8 1": {
            "call": 198.9, "read": 5.117,
        },
        "REDUCE INT8 2": {
            "read": 5.545,
        },
        "REDUCE INT8 3": {
            "call": 31700,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 165.5, "element": 1196,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 165.6, "element": 3694,
        },
        "RESAMPLE INT8 2x2": {
            "call": 160.5, "element": 34.46,
        },
        "RESAMPLE INT8 4x4": {
            "call": 168.6, "element": 88.91,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 390,
        },
        "SCALE_SUMS INT8": {
            "call": 260,
        },
        "SELECT FLOAT32": {
            "call": 332.4, "element": 6.772,
        },
        "SELECT FLOAT32 by channel": {
            "call": 243.9, "element": 22.29,
        },
        "SELECT INT8": {
            "row": 90.97, "pixel": 74.17,
        },
        "SELECT INT8 by channel": {
            "call": 243.9, "element": 10.04,
        },
        "SOFTMAX FLOAT32": {
            "element": 2057,
        },
        "SOFTMAX INT8": {
            "call": 183.2, "row": 16.81, "pixel": 227.3, "element": 37.12,
        },
        "SUB FLOAT32": {
            "call": 223, "element": 143.4,
        },
        "SUB INT8": {
            "call": 250, "element": 42.71,
        },
        "SUM_MAP FLOAT32": {
            "read": 67.56,
        },
        "SUM_MAP INT8": {
            "call": 158.4, "block": 15.63, "cleared": 16.08, "read": 2.751,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 221, "product": 158,
        },
        "SUM_PRODUCTS INT8": {
            "call": 205, "product": 4.079,
        },
        "TRANSPOSE FLOAT32": {
            "call": 286.9, "element": 19.21,
        },
        "TRANSPOSE INT8": {
            "call": 296.8, "element": 4.286,
        },
        "UNARY FLOAT32 2": {
            "call": 197, "element": 2281,
        },
        "UNARY FLOAT32 4": {
            "call": 187.1, "row": 4.639, "element": 91.39,
        },
        "UNARY FLOAT32 6": {
            "call": 2.723e+06,
        },
        "VECTOR FLOAT32 1": {
            "call": 854.3, "element": 745.9,
        },
        "VECTOR FLOAT32 7": {
            "call": 204, "element": 96.99,
        },
        "executor": {
            "stage": 115.5, "view": 282.6, "operator": 49.09, "band": 35.19, "band operand": 483.1, "call": 239.4,
            "moved byte": 5.895, "copy": 155, "copied byte": 6.35, "copied block": 5.971, "decompressed block": 8.743,
        },
    },
    "cortex-m4": {
        "ADD FLOAT32": {
            "call": 256, "row": 32.17, "pixel": 17.37, "element": 18.98,
        },
        "ADD INT8": {
            "call": 303.8, "row": 29.23, "pixel": 22.95, "element": 45,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 184, "tap": 14.65,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 168, "tap": 24.81,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 184, "tap": 5.988,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 184, "tap": 8.063,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 186.7, "tap": 6.545,
        },
        "BINARY FLOAT32 1": {
            "call": 258.7, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 256, "element": 16.16,
        },
        "BINARY FLOAT32 4": {
            "call": 258.7, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143000,
        },
        "COMMIT INT8": {
            "call": 290.3, "pixel": 0.0808, "element": 0.8102,
        },
        "CONCAT INT8": {
            "call": 462, "pixel": 1.15, "element": 0.0267,
        },
        "CONV_2D FLOAT32": {
            "call": 79.38, "row": 204.2, "pixel": 96.22, "group": 137.9, "output": 0.226, "block run": 67.57,
            "block tap": 2.748, "rest run": 184.5,
        },
        "CONV_2D INT8": {
            "call": 196, "row": 10.13, "group": 250.4, "run": 96.28, "tap": 6.871, "batch": 108.7, "block": 46.67,
            "block tap": 9.041, "block rest": 22.26, "channel": 103.4, "channel tap": 1.594, "output": 30.46,
            "unusual output": 16.41,
        },
        "COPY FLOAT32": {
            "call": 200,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 279.2, "row": 83.03, "pixel": 62.53, "output": 47.92, "run": 11.16, "tap": 7.936,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 289.3, "channel": 80.7, "walk": 55.18, "line": 80.45, "line of stride 2": 70.65,
            "line output": 26.86, "line output of stride 2": 36.38, "pixel": 179.7, "pixel channel tap": 27.05,
            "pixel block": 73.8, "pixel run": 85.58, "pixel tap": 13.06,
        },
        "DEQUANTIZE INT8": {
            "call": 210.7, "element": 8.998,
        },
        "DIVIDE INT8": {
            "call": 288, "element": 42.39,
        },
        "EXTREME INT8": {
            "call": 254.7, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 125.5,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 266.4, "output": 104, "tap": 8.006, "rest tap": 6.49,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 522.1, "batch tap": 1.92, "output": 21.62, "eight tap": 1.474, "two tap": 2.083, "rest": 39.5,
            "rest tap": 1.268e-12,
        },
        "LOOKUP INT8": {
            "call": 237.9, "row": 0.2459, "element": 4.977,
        },
        "MAT_MUL FLOAT32": {
            "call": 375, "output": 37.42, "product": 12.87,
        },
        "MAT_MUL INT8": {
            "call": 1014, "output": 31.14, "read": 0.0006934, "product": 2.749,
        },
        "MAX_POOL FLOAT32": {
            "call": 184, "tap": 15.75,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 176, "tap": 24.32,
        },
        "MAX_POOL INT8": {
            "call": 689.9, "tap": 7.18,
        },
        "MAX_POOL INT8 2x2": {
            "call": 288.3, "tap": 6.571,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 432.7, "read": 0.4416,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1096, "row": 2.53e-13, "element": 23.59,
        },
        "MUL FLOAT32": {
            "call": 258.1, "row": 30.91, "pixel": 17.2, "element": 19,
        },
        "MUL INT8": {
            "call": 1002, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 370.9, "element": 32.18,
        },
        "PRELU INT8": {
            "call": 171300,
        },
        "QUANTIZE INT8": {
            "call": 218.7, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 202.7, "read": 23.87,
        },
        "REDUCE FLOAT32 2": {
            "read": 24.22,
        },
        "REDUCE FLOAT32 3": {
            "call": 98680,
        },
        "REDUCE INT8 1": {
            "call": 216, "read": 5.936,
        },
        "REDUCE INT8 2": {
            "call": 137.4, "read": 6.182,
        },
        "REDUCE INT8 3": {
            "call": 48060,
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
            "call": 145, "element": 78.82,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 216.4, "element": 6.552e-15,
        },
        "SCALE_SUMS INT8": {
            "call": 297.3,
        },
        "SELECT FLOAT32": {
            "call": 381.3, "element": 6.175,
        },
        "SELECT FLOAT32 by channel": {
            "call": 264, "element": 23.33,
        },
        "SELECT INT8": {
            "row": 104.7, "pixel": 80.95,
        },
        "SELECT INT8 by channel": {
            "call": 269.3, "element": 10.76,
        },
        "SOFTMAX FLOAT32": {
            "call": 180.4, "element": 93.2,
        },
        "SOFTMAX INT8": {
            "call": 199.8, "row": 3.881, "pixel": 213.2, "element": 32.52,
        },
        "SUB FLOAT32": {
            "call": 250.7, "element": 19.6,
        },
        "SUB INT8": {
            "call": 304, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 158, "read": 6.179,
        },
        "SUM_MAP INT8": {
            "call": 211.9, "block": 11.64, "cleared": 2.097, "read": 2.757,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 247.6, "product": 8.636,
        },
        "SUM_PRODUCTS INT8": {
            "call": 232.7, "product": 2.944,
        },
        "TRANSPOSE FLOAT32": {
            "call": 377.5, "element": 19.44,
        },
        "TRANSPOSE INT8": {
            "call": 387.9, "row": 0.8998, "element": 3.79,
        },
        "UNARY FLOAT32 2": {
            "call": 224, "element": 84.09,
        },
        "UNARY FLOAT32 4": {
            "call": 214.3, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182400,
        },
        "VECTOR FLOAT32 1": {
            "call": 290.9, "element": 36.57,
        },
        "VECTOR FLOAT32 7": {
            "call": 218.7, "element": 30.81,
        },
        "executor": {
            "stage": 112.5, "view": 243.8, "band": 10.34, "band operand": 413.3, "call": 328.8, "move": 8.426,
            "moved byte": 0.7047, "copy": 215.4, "copied byte": 0.9363, "copied block": 0.517,
            "decompressed block": 8.002,
        },
    },
    "cortex-m7": {
        "ADD FLOAT32": {
            "call": 256.6, "row": 31.6, "pixel": 16.74, "element": 17.02,
        },
        "ADD INT8": {
            "call": 301.8, "row": 38.59, "pixel": 24.92, "element": 45,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 173.3, "tap": 14.43,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 168, "tap": 24.31,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 176, "tap": 6.531,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 192, "tap": 8.351,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 184, "tap": 6.438,
        },
        "BINARY FLOAT32 1": {
            "call": 248, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 258.7, "element": 16.15,
        },
        "BINARY FLOAT32 4": {
            "call": 256, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143200,
        },
        "COMMIT INT8": {
            "call": 291, "pixel": 0.0866, "element": 0.8034,
        },
        "CONCAT INT8": {
            "call": 465.4, "pixel": 1.124, "element": 0.02773,
        },
        "CONV_2D FLOAT32": {
            "call": 84.13, "row": 199, "pixel": 96.22, "group": 138, "output": 0.2268, "block run": 67.54,
            "block tap": 2.748, "rest run": 184.2,
        },
        "CONV_2D INT8": {
            "call": 195.1, "row": 11.37, "pair": 19.7, "group": 230.3, "run": 96.01, "tap": 6.797, "batch": 112.4,
            "block": 50.35, "block tap": 9.07, "block rest": 21.86, "channel": 108.8, "channel tap": 1.467,
            "output": 30.64, "unusual output": 16.71,
        },
        "COPY FLOAT32": {
            "call": 216.4, "element": 3.199e-18,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 273.5, "row": 81.53, "pixel": 62.67, "output": 47.97, "run": 11.16, "tap": 7.927,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 280.5, "channel": 77.54, "walk": 55.74, "line": 83.15, "line of stride 2": 70.85,
            "line output": 26.87, "line output of stride 2": 36.39, "pixel": 183.1, "pixel channel": 0.3055,
            "pixel channel tap": 27.11, "pixel block": 69.16, "pixel run": 89.63, "pixel tap": 13.08,
        },
        "DEQUANTIZE INT8": {
            "call": 210.7, "element": 8.998,
        },
        "DIVIDE INT8": {
            "call": 285.3, "element": 43.43,
        },
        "EXTREME INT8": {
            "call": 254.7, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 128.6,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 267.7, "output": 104.2, "tap": 8.004, "rest tap": 7.768,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 512, "batch tap": 1.904, "output": 21.71, "eight tap": 1.474, "two tap": 2.1, "rest": 40.4,
            "rest tap": 1.596e-12,
        },
        "LOOKUP INT8": {
            "call": 200.4, "row": 0.03523, "pixel": 0.495, "element": 4.99,
        },
        "MAT_MUL FLOAT32": {
            "call": 373.6, "output": 37.42, "product": 12.88,
        },
        "MAT_MUL INT8": {
            "call": 1014, "output": 31.14, "product": 2.749,
        },
        "MAX_POOL FLOAT32": {
            "call": 173.3, "tap": 15.53,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 168, "tap": 23.83,
        },
        "MAX_POOL INT8": {
            "call": 697, "tap": 7.179,
        },
        "MAX_POOL INT8 2x2": {
            "call": 288.6, "tap": 6.585,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 375.9, "read": 0.396,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1088, "row": 1.061e-12, "element": 25.71,
        },
        "MUL FLOAT32": {
            "call": 249.6, "row": 30.98, "pixel": 17.19, "element": 17,
        },
        "MUL INT8": {
            "call": 980.2, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 379.7, "element": 32.33,
        },
        "PRELU INT8": {
            "call": 171300,
        },
        "QUANTIZE INT8": {
            "call": 218.7, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 189.3, "read": 22.88,
        },
        "REDUCE FLOAT32 2": {
            "read": 23.22,
        },
        "REDUCE FLOAT32 3": {
            "call": 90520,
        },
        "REDUCE INT8 1": {
            "call": 210.7, "read": 5.629,
        },
        "REDUCE INT8 2": {
            "call": 70.91, "read": 6.028,
        },
        "REDUCE INT8 3": {
            "call": 47980,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 175, "element": 182,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 187.5, "element": 457.6,
        },
        "RESAMPLE INT8 2x2": {
            "call": 185, "element": 34.87,
        },
        "RESAMPLE INT8 4x4": {
            "call": 197.5, "element": 79.31,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 216.4,
        },
        "SCALE_SUMS INT8": {
            "call": 320,
        },
        "SELECT FLOAT32": {
            "call": 366, "element": 6.221,
        },
        "SELECT FLOAT32 by channel": {
            "call": 253.3, "element": 24.33,
        },
        "SELECT INT8": {
            "row": 97.53, "pixel": 80.48,
        },
        "SELECT INT8 by channel": {
            "call": 261.3, "element": 10.83,
        },
        "SOFTMAX FLOAT32": {
            "call": 175.5, "element": 92.31,
        },
        "SOFTMAX INT8": {
            "call": 171.3, "pixel": 253.1, "element": 31.53,
        },
        "SUB FLOAT32": {
            "call": 258.7, "element": 17.6,
        },
        "SUB INT8": {
            "call": 304, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 157.2, "read": 6.179,
        },
        "SUM_MAP INT8": {
            "call": 209, "block": 11.7, "cleared": 2.071, "read": 2.758,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 245.7, "product": 8.636,
        },
        "SUM_PRODUCTS INT8": {
            "call": 227.3, "product": 2.952,
        },
        "TRANSPOSE FLOAT32": {
            "call": 376.8, "element": 19.45,
        },
        "TRANSPOSE INT8": {
            "call": 386, "row": 0.8976, "element": 3.791,
        },
        "UNARY FLOAT32 2": {
            "call": 208, "element": 84.1,
        },
        "UNARY FLOAT32 4": {
            "call": 214.2, "row": 0.2781, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182400,
        },
        "VECTOR FLOAT32 1": {
            "call": 289.9, "element": 36.56,
        },
        "VECTOR FLOAT32 7": {
            "call": 222.7, "element": 29.81,
        },
        "executor": {
            "stage": 98.81, "view": 252, "band": 12.51, "band operand": 415.4, "call": 325.2, "move": 9.391,
            "moved byte": 0.7048, "copy": 212.4, "copied byte": 0.9364, "copied block": 0.5167,
            "decompressed block": 8.011,
        },
    },
}
