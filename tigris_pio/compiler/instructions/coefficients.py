"""Instructions for each piece of work, by processor and kernel; "executor": around the kernels. Generated.

Written by `python -m bench.calibrate --write`; counted under QEMU:
rv32imc: riscv64-unknown-elf-gcc (12.2.0-14+deb12u1+11+b2) 12.2.0, -O2, on 2026-11-23 at commit 0a1ccc50e90f
cortex-m4: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2, on 2026-11-23 at commit 0a1ccc50e90f
cortex-m7: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2, on 2026-11-23 at commit 0a1ccc50e90f
cortex-m55: arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205, -O2, on 2026-11-24 at commit 2b208b590f75

Some numbers were changed by hand afterwards, so that predictions meet the counts of the networks. `--write` loses this:
- rv32imc: "tap" of int8 convolutions and "line output", scaled on 2026-11-24
- cortex-m4, cortex-m7: "batch" of fully connected layers, scaled on 2026-11-25; int8 convolutions were counted again on
  2026-11-26 at commit dae8ec84411b
- cortex-m55: all "slot" numbers are cortex-m4's; "unusual line output" is an earlier number of cortex-m4's
- all but cortex-m55: int8 depthwise convolutions were counted again on 2026-11-27 at commit 40e52eaf0287
- all: "decompressed block", by the networks with three quarters of zeros among their weights, on 2026-11-24
"""

from __future__ import annotations

from collections.abc import Mapping

COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "rv32imc": {
        "ADD FLOAT32": {
            "call": 176.5, "row": 77.89, "pixel": 50.51, "element": 151.5,
        },
        "ADD INT8": {
            "call": 223.6, "row": 5.507, "pixel": 13.38, "element": 42.51,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 134.7, "tap": 102.6,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 134.6, "tap": 146.3,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 145.6, "tap": 6.79,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 145.6, "tap": 6.978,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 145.7, "tap": 6.241,
        },
        "BINARY FLOAT32 1": {
            "call": 186, "element": 123.2,
        },
        "BINARY FLOAT32 3": {
            "call": 186, "element": 61.33,
        },
        "BINARY FLOAT32 4": {
            "call": 186, "element": 52.82,
        },
        "BINARY FLOAT32 7": {
            "call": 763300,
        },
        "COMMIT INT8": {
            "call": 219.3, "pixel": 0.06511, "element": 0.7235,
        },
        "CONCAT INT8": {
            "call": 253, "pixel": 1.014, "element": 0.01789,
        },
        "CONV_2D FLOAT32": {
            "call": 322.8, "row": 4953, "pixel": 997.9, "group": 156.3, "output": 0.07672, "block run": 321.6,
            "block tap": 173.2, "rest run": 11690,
        },
        "CONV_2D INT8": {
            "call": 209.1, "row": 166.4, "pair": 64.88, "group": 207.3, "run": 66.05, "tap": 6.234, "batch": 124.3,
            "block": 41.07, "block tap": 17.85, "block rest": 29.53, "channel": 318.4, "output": 41.07, "three": 85.06,
            "three output": 86.05, "three tap": 7.793, "single": 348.2, "single output": 21.43, "single tap": 3.338,
        },
        "COPY FLOAT32": {
            "call": 118,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 1251, "row": 2874, "pixel": 2790, "output": 57.36, "tap": 173.7,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 326.5, "walk": 72.73, "line": 109.2, "line of stride 2": 83.75, "line output": 35.31,
            "line output of stride 2": 40.78, "plain row": 80.52, "plain row output": 36.72,
            "unusual line output": 38.29, "pixel": 145.2, "pixel batch": 66.25, "pixel block": 131.6,
            "pixel run": 8.997, "pixel tap": 18.95, "pixel channel": 553.3,
        },
        "DEQUANTIZE INT8": {
            "call": 129.1, "element": 9,
        },
        "DIVIDE INT8": {
            "call": 207, "element": 39.33,
        },
        "EXTREME INT8": {
            "call": 158.1, "element": 8.688,
        },
        "FETCH INT8": {
            "call": 109.2,
        },
        "FULLY_CONNECTED FLOAT32": {
            "output": 651.6, "tap": 164.8, "rest tap": 822.6,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 528.1, "output": 15.68, "eight tap": 3.232, "two tap": 3.751, "rest": 45.57,
        },
        "LOOKUP INT8": {
            "call": 129.9, "row": 0.09508, "pixel": 0.01887, "element": 6.999,
        },
        "MAT_MUL FLOAT32": {
            "row": 66.87, "output": 179.2, "read": 0.6623, "product": 191.6,
        },
        "MAT_MUL INT8": {
            "call": 1161, "output": 30.9, "read": 0.16, "product": 3.508,
        },
        "MAX_POOL FLOAT32": {
            "call": 134.7, "tap": 38.95,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 134.6, "tap": 56.4,
        },
        "MAX_POOL INT8": {
            "call": 692.4, "tap": 4.915,
        },
        "MAX_POOL INT8 2x2": {
            "call": 264.6, "tap": 5.115,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 2776, "read": 4.729,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1081, "element": 18.26,
        },
        "MUL FLOAT32": {
            "call": 44.74, "row": 107.9, "pixel": 96.73, "element": 185.1,
        },
        "MUL INT8": {
            "call": 481.4, "element": 21.31,
        },
        "NORMALISE INT8": {
            "call": 344.2, "element": 28.02,
        },
        "PRELU INT8": {
            "call": 156200,
        },
        "QUANTIZE INT8": {
            "call": 133, "element": 60,
        },
        "REDUCE FLOAT32 1": {
            "call": 164.9, "read": 349.7,
        },
        "REDUCE FLOAT32 2": {
            "read": 355.4,
        },
        "REDUCE FLOAT32 3": {
            "call": 445400,
        },
        "REDUCE INT8 1": {
            "call": 173.9, "read": 5.117,
        },
        "REDUCE INT8 2": {
            "read": 5.527,
        },
        "REDUCE INT8 3": {
            "call": 31680,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 163.5, "element": 1175,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 163.6, "element": 3653,
        },
        "RESAMPLE INT8 2x2": {
            "call": 137.5, "element": 34.56,
        },
        "RESAMPLE INT8 4x4": {
            "call": 145.6, "element": 89.03,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 364,
        },
        "SCALE_SUMS INT8": {
            "call": 233,
        },
        "SELECT FLOAT32": {
            "call": 294.9, "element": 6.77,
        },
        "SELECT FLOAT32 by channel": {
            "call": 218.9, "element": 22.33,
        },
        "SELECT INT8": {
            "row": 41.66, "pixel": 66.44,
        },
        "SELECT INT8 by channel": {
            "call": 218.9, "element": 10.08,
        },
        "SOFTMAX FLOAT32": {
            "element": 2049,
        },
        "SOFTMAX INT8": {
            "call": 146.4, "row": 11.87, "pixel": 237.5, "element": 36.85,
        },
        "SUB FLOAT32": {
            "call": 183, "element": 143.4,
        },
        "SUB INT8": {
            "call": 210, "element": 42.71,
        },
        "SUM_MAP FLOAT32": {
            "read": 67.53,
        },
        "SUM_MAP INT8": {
            "call": 134.4, "block": 13.75, "cleared": 16.08, "read": 2.751,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 185, "product": 158,
        },
        "SUM_PRODUCTS INT8": {
            "call": 160, "product": 4.11,
        },
        "TRANSPOSE FLOAT32": {
            "call": 261.3, "element": 19.21,
        },
        "TRANSPOSE INT8": {
            "call": 270.9, "element": 4.285,
        },
        "UNARY FLOAT32 2": {
            "call": 162, "element": 2281,
        },
        "UNARY FLOAT32 4": {
            "call": 152.1, "row": 4.643, "element": 91.39,
        },
        "UNARY FLOAT32 6": {
            "call": 2.723e+06,
        },
        "VECTOR FLOAT32 1": {
            "call": 829.3, "element": 745.9,
        },
        "VECTOR FLOAT32 7": {
            "call": 179, "element": 96.99,
        },
        "executor": {
            "stage": 185.5, "view": 178.1, "operator": 40, "band": 30.74, "band operand": 409.1, "call": 205.9,
            "move": 110.9, "moved byte": 0.641, "copy": 213.1, "copied byte": 0.8268, "decompressed block": 5.982,
            "copied block": 0.6792,
        },
    },
    "cortex-m4": {
        "ADD FLOAT32": {
            "call": 183.1, "row": 31.89, "pixel": 17.17, "element": 19,
        },
        "ADD INT8": {
            "call": 231.5, "row": 29.11, "pixel": 23.02, "element": 45,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 128, "tap": 14.65,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 128, "tap": 24.81,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 144, "tap": 5.983,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 144, "tap": 8.073,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 128, "tap": 6.546,
        },
        "BINARY FLOAT32 1": {
            "call": 184, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 181.3, "element": 16.15,
        },
        "BINARY FLOAT32 4": {
            "call": 178.7, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143000,
        },
        "COMMIT INT8": {
            "call": 208.4, "row": 2.108, "element": 0.7055,
        },
        "CONCAT INT8": {
            "call": 264.6, "pixel": 0.7674, "element": 0.02929,
        },
        "CONV_2D FLOAT32": {
            "call": 147.1, "row": 35.2, "pixel": 104.5, "group": 145.9, "output": 0.0004127, "block run": 65.13,
            "block tap": 2.752, "rest run": 177.3,
        },
        "CONV_2D INT8": {
            "call": 156.8, "row": 158.1, "group": 368, "run": 87.26, "tap": 7.665, "block": 62.64, "block tap": 8.644,
            "block rest": 14.48, "channel": 132.8, "output": 36.37, "unusual output": 17.46, "two": 264.3,
            "two output": 42.09, "two tap": 2.275, "three": 191.9, "three output": 67.36, "three tap": 2.969,
            "single": 606.2, "single output": 16.61, "single tap": 1.543, "slot group": 249.7, "slot fill": 106.8,
            "slot": 37.62, "slot block": 48.6, "slot output": 47.47, "sharing three tap": 2.795,
            "slot three tap": 2.833, "slot pair tap": 2.192, "unusual slot output": 21.31,
        },
        "COPY FLOAT32": {
            "call": 134.4,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 202.5, "row": 63.68, "pixel": 62.87, "output": 48.4, "run": 11.15, "tap": 7.92,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 450.9, "walk": 76.47, "line": 100.2, "line of stride 2": 95.19, "line output": 24.8,
            "line output of stride 2": 35.33, "plain row": 156.4, "unusual line output": 36.3,
            "pixel": 185.9, "pixel batch": 50.11, "pixel block": 138.9, "pixel run": 4.972,
            "pixel tap": 12.88, "pixel channel": 688.1,
        },
        "DEQUANTIZE INT8": {
            "call": 141.3, "element": 9.001,
        },
        "DIVIDE INT8": {
            "call": 213.3, "element": 42.39,
        },
        "EXTREME INT8": {
            "call": 174.6, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 105.5,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 206.2, "output": 122.9, "tap": 8.041, "rest tap": 5.667,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 160, "batch tap": 1.924, "output": 17.52, "eight tap": 1.47, "two tap": 2.123, "rest": 44.32,
        },
        "LOOKUP INT8": {
            "call": 137.7, "pixel": 0.2519, "element": 5.001,
        },
        "MAT_MUL FLOAT32": {
            "call": 298.3, "output": 37.46, "product": 12.87,
        },
        "MAT_MUL INT8": {
            "call": 1199, "output": 30.36, "read": 0.8319, "product": 2.721,
        },
        "MAX_POOL FLOAT32": {
            "call": 136, "tap": 15.75,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 112, "tap": 24.33,
        },
        "MAX_POOL INT8": {
            "call": 647.5, "tap": 7.179,
        },
        "MAX_POOL INT8 2x2": {
            "call": 259.6, "tap": 6.502,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 412.3, "read": 0.4232,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1065, "element": 24.42,
        },
        "MUL FLOAT32": {
            "call": 176, "row": 30.97, "pixel": 17.25, "element": 18.99,
        },
        "MUL INT8": {
            "call": 916.6, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 318.1, "element": 32.19,
        },
        "PRELU INT8": {
            "call": 171200,
        },
        "QUANTIZE INT8": {
            "call": 154.7, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 146.7, "read": 23.87,
        },
        "REDUCE FLOAT32 2": {
            "read": 24.18,
        },
        "REDUCE FLOAT32 3": {
            "call": 98640,
        },
        "REDUCE INT8 1": {
            "call": 165.3, "read": 5.937,
        },
        "REDUCE INT8 2": {
            "call": 89.11, "read": 6.183,
        },
        "REDUCE INT8 3": {
            "call": 48000,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 160, "element": 158.5,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 160, "element": 404.7,
        },
        "RESAMPLE INT8 2x2": {
            "call": 120, "element": 34.39,
        },
        "RESAMPLE INT8 4x4": {
            "call": 112.5, "element": 78,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 160,
        },
        "SCALE_SUMS INT8": {
            "call": 280,
        },
        "SELECT FLOAT32": {
            "call": 301.7, "element": 6.124,
        },
        "SELECT FLOAT32 by channel": {
            "call": 218.7, "element": 23.26,
        },
        "SELECT INT8": {
            "row": 37.28, "pixel": 67.98,
        },
        "SELECT INT8 by channel": {
            "call": 218.7, "element": 10.7,
        },
        "SOFTMAX FLOAT32": {
            "call": 109.5, "element": 93.98,
        },
        "SOFTMAX INT8": {
            "call": 137, "row": 3.886, "pixel": 217.6, "element": 32.42,
        },
        "SUB FLOAT32": {
            "call": 173.3, "element": 19.6,
        },
        "SUB INT8": {
            "call": 232, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 110.7, "read": 6.176,
        },
        "SUM_MAP INT8": {
            "call": 165.3, "block": 9.904, "cleared": 2.025, "read": 2.756,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 179, "product": 8.63,
        },
        "SUM_PRODUCTS INT8": {
            "call": 161.8, "product": 3.01,
        },
        "TRANSPOSE FLOAT32": {
            "call": 350.7, "element": 19.43,
        },
        "TRANSPOSE INT8": {
            "call": 335.9, "row": 1.304, "element": 3.785,
        },
        "UNARY FLOAT32 2": {
            "call": 154.7, "element": 84.09,
        },
        "UNARY FLOAT32 4": {
            "call": 153.6, "pixel": 0.1436, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182300,
        },
        "VECTOR FLOAT32 1": {
            "call": 242.8, "element": 36.57,
        },
        "VECTOR FLOAT32 7": {
            "call": 180, "element": 30.81,
        },
        "executor": {
            "stage": 212, "view": 122, "operator": 54.89, "band": 70.07, "band operand": 421.3, "call": 185.5,
            "move": 91.86, "moved byte": 0.5846, "copy": 186.8, "copied byte": 0.6747, "decompressed block": 3.87,
            "copied block": 0.5246,
        },
    },
    "cortex-m7": {
        "ADD FLOAT32": {
            "call": 182.4, "row": 32.23, "pixel": 17.14, "element": 16.99,
        },
        "ADD INT8": {
            "call": 227.3, "row": 37.55, "pixel": 25.01, "element": 45,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 128, "tap": 14.43,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 128, "tap": 24.31,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 136, "tap": 6.536,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 144, "tap": 8.322,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 138.7, "tap": 6.437,
        },
        "BINARY FLOAT32 1": {
            "call": 181.3, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 184, "element": 16.15,
        },
        "BINARY FLOAT32 4": {
            "call": 181.3, "element": 17.28,
        },
        "BINARY FLOAT32 7": {
            "call": 143100,
        },
        "COMMIT INT8": {
            "call": 221, "row": 1.34, "element": 0.6971,
        },
        "CONCAT INT8": {
            "call": 261.2, "pixel": 0.7422, "element": 0.03168,
        },
        "CONV_2D FLOAT32": {
            "call": 164.9, "row": 19.38, "pixel": 105.9, "group": 145.1, "output": 0.0003947, "block run": 65.1,
            "block tap": 2.752, "rest run": 176.9,
        },
        "CONV_2D INT8": {
            "call": 135, "row": 160.2, "pair": 16.65, "group": 345.5, "run": 86.56, "tap": 7.605, "block": 63.4,
            "block tap": 8.58, "block rest": 14.25, "channel": 124.9, "output": 35.85, "unusual output": 17.75,
            "two": 267.3, "two output": 41.33, "two tap": 2.28, "three": 186.6, "three output": 67.98,
            "three tap": 2.971, "single": 620.1, "single output": 18.04, "single tap": 1.541, "slot group": 296.7,
            "slot fill": 174.4, "slot": 19.69, "slot block": 37.82, "slot output": 43.12, "sharing three tap": 2.877,
            "slot three tap": 2.97, "slot pair tap": 2.204, "unusual slot output": 21.57,
        },
        "COPY FLOAT32": {
            "call": 160,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 199.5, "row": 63.8, "pixel": 62.91, "output": 48.39, "run": 11.15, "tap": 7.914,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 462.6, "walk": 80.59, "line": 100.7, "line of stride 2": 95.65, "line output": 25.22,
            "line output of stride 2": 36.2, "plain row": 160.2, "unusual line output": 34.75,
            "pixel": 185.4, "pixel batch": 55.34, "pixel block": 141.2, "pixel run": 4.858,
            "pixel tap": 12.9, "pixel channel": 686.8,
        },
        "DEQUANTIZE INT8": {
            "call": 144, "element": 9.001,
        },
        "DIVIDE INT8": {
            "call": 205.3, "element": 43.43,
        },
        "EXTREME INT8": {
            "call": 181.3, "element": 10.45,
        },
        "FETCH INT8": {
            "call": 104.6,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 221, "output": 122.9, "tap": 8.038, "rest tap": 7.082,
        },
        "FULLY_CONNECTED INT8": {
            "batch": 170, "batch tap": 1.958, "output": 17.92, "eight tap": 1.47, "two tap": 2.128, "rest": 42.21,
        },
        "LOOKUP INT8": {
            "call": 137.6, "row": 0.01567, "pixel": 0.3222, "element": 4.998,
        },
        "MAT_MUL FLOAT32": {
            "call": 299.6, "output": 37.46, "product": 12.87,
        },
        "MAT_MUL INT8": {
            "call": 1194, "output": 30.38, "read": 0.8125, "product": 2.722,
        },
        "MAX_POOL FLOAT32": {
            "call": 130.7, "tap": 15.53,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 128, "tap": 23.82,
        },
        "MAX_POOL INT8": {
            "call": 645.1, "tap": 7.179,
        },
        "MAX_POOL INT8 2x2": {
            "call": 271.7, "tap": 6.507,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 355.4, "read": 0.3779,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1047, "element": 26.67,
        },
        "MUL FLOAT32": {
            "call": 182.4, "row": 30.79, "pixel": 17.25, "element": 16.99,
        },
        "MUL INT8": {
            "call": 922.9, "element": 23.74,
        },
        "NORMALISE INT8": {
            "call": 332.8, "element": 32.32,
        },
        "PRELU INT8": {
            "call": 171200,
        },
        "QUANTIZE INT8": {
            "call": 149.3, "element": 28,
        },
        "REDUCE FLOAT32 1": {
            "call": 152, "read": 22.88,
        },
        "REDUCE FLOAT32 2": {
            "read": 23.19,
        },
        "REDUCE FLOAT32 3": {
            "call": 90480,
        },
        "REDUCE INT8 1": {
            "call": 168, "read": 5.629,
        },
        "REDUCE INT8 2": {
            "call": 22.93, "read": 6.029,
        },
        "REDUCE INT8 3": {
            "call": 47920,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 155, "element": 156.6,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 157.5, "element": 408.4,
        },
        "RESAMPLE INT8 2x2": {
            "call": 130, "element": 34.15,
        },
        "RESAMPLE INT8 4x4": {
            "call": 142.5, "element": 77.51,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 175.6,
        },
        "SCALE_SUMS INT8": {
            "call": 240,
        },
        "SELECT FLOAT32": {
            "call": 291.3, "element": 6.177,
        },
        "SELECT FLOAT32 by channel": {
            "call": 208, "element": 24.33,
        },
        "SELECT INT8": {
            "row": 36.06, "pixel": 68.41,
        },
        "SELECT INT8 by channel": {
            "call": 205.3, "element": 10.77,
        },
        "SOFTMAX FLOAT32": {
            "call": 119.9, "element": 92.14,
        },
        "SOFTMAX INT8": {
            "call": 134.8, "row": 4.076, "pixel": 221.6, "element": 32.42,
        },
        "SUB FLOAT32": {
            "call": 170.7, "element": 17.6,
        },
        "SUB INT8": {
            "call": 226.7, "element": 45.78,
        },
        "SUM_MAP FLOAT32": {
            "call": 112.5, "read": 6.177,
        },
        "SUM_MAP INT8": {
            "call": 164.6, "block": 9.972, "cleared": 2.052, "read": 2.756,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 179, "product": 8.64,
        },
        "SUM_PRODUCTS INT8": {
            "call": 163.6, "product": 3.029,
        },
        "TRANSPOSE FLOAT32": {
            "call": 328.7, "element": 19.45,
        },
        "TRANSPOSE INT8": {
            "call": 337.7, "row": 1.295, "element": 3.784,
        },
        "UNARY FLOAT32 2": {
            "call": 160, "element": 84.09,
        },
        "UNARY FLOAT32 4": {
            "call": 143.6, "row": 0.1995, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182300,
        },
        "VECTOR FLOAT32 1": {
            "call": 250.4, "element": 36.56,
        },
        "VECTOR FLOAT32 7": {
            "call": 170.7, "element": 29.81,
        },
        "executor": {
            "stage": 224.7, "view": 105.9, "operator": 70.07, "band": 59.86, "band operand": 423.3, "call": 186.8,
            "move": 82.84, "moved byte": 0.585, "copy": 183.4, "copied byte": 0.6737, "decompressed block": 3.869,
            "copied block": 0.5234,
        },
    },
    "cortex-m55": {
        "ADD FLOAT32": {
            "call": 189.9, "row": 31.04, "pixel": 17.13, "element": 16,
        },
        "ADD INT8": {
            "call": 289.1, "line": 104, "vector": 79,
        },
        "AVERAGE_POOL FLOAT32": {
            "call": 135.4, "tap": 13.69,
        },
        "AVERAGE_POOL FLOAT32 2x2": {
            "call": 137.4, "tap": 24.55,
        },
        "AVERAGE_POOL INT8 2x2": {
            "call": 231.2, "window tap": 37.86,
        },
        "AVERAGE_POOL INT8 2x2 rescaled": {
            "call": 237.8, "window tap": 29.61,
        },
        "AVERAGE_POOL INT8 rescaled": {
            "call": 229.1, "window tap": 19.23,
        },
        "BINARY FLOAT32 1": {
            "call": 181.3, "element": 15.97,
        },
        "BINARY FLOAT32 3": {
            "call": 187.6, "element": 16.16,
        },
        "BINARY FLOAT32 4": {
            "call": 187.5, "element": 17.04,
        },
        "BINARY FLOAT32 7": {
            "call": 143300,
        },
        "COMMIT INT8": {
            "call": 236.5, "row": 1.49, "element": 0.7022,
        },
        "CONCAT INT8": {
            "call": 260.8, "pixel": 0.8415, "element": 0.03272,
        },
        "CONV_2D FLOAT32": {
            "call": 150.4, "row": 35.75, "pixel": 102.4, "group": 149.5, "output": 0.0006469, "block run": 67.9,
            "block tap": 3.749, "rest run": 147.5,
        },
        "CONV_2D INT8": {
            "call": 282.9, "shift vector": 42, "strip": 82.36, "strip vector": 3.609, "patch": 60.23,
            "short patch row": 5.298, "patch row": 9.278, "patch row vector": 3.059, "border row": 31.16,
            "border tap": 17.42, "border vector": 0.5929, "strip tile": 11.63, "strip block": 50.93,
            "strip end": 16.56, "strip end tile": 14.8, "strip end tap": 17.53, "odd sums": 10.3, "sums": 35.61,
            "sums vector": 16.24, "row": 1691, "pair": 1270, "group": 1018, "run": 115.8, "single": 143.4,
            "single output": 126, "slot group": 249.7, "slot fill": 106.8, "slot": 37.62, "slot block": 48.6,
            "slot output": 47.47, "sharing three tap": 2.795, "slot three tap": 2.833, "slot pair tap": 2.192,
            "unusual slot output": 21.31,
        },
        "COPY FLOAT32": {
            "call": 137.1,
        },
        "DEPTHWISE_CONV_2D FLOAT32": {
            "call": 233.2, "row": 70.28, "pixel": 64.56, "output": 51.3, "run": 12.13, "tap": 5.925,
        },
        "DEPTHWISE_CONV_2D INT8": {
            "call": 285.6, "group": 164.6, "group block": 51.6, "tile": 81.73, "tile line": 88.44,
            "tile column": 19.66, "tile padding": 15.38, "tile channel": 45.47, "tile channel of stride 2": 47.63,
            "lanes group": 380.5, "lanes row": 123.8, "lanes pixel": 40.31, "lanes run": 57.34, "lanes tap": 17.29,
            "channel": 98.74, "line": 308.4, "row": 22400, "unusual line output": 34.2,
        },
        "DEQUANTIZE INT8": {
            "call": 156.3, "element": 7.999,
        },
        "DIVIDE INT8": {
            "call": 214.6, "element": 44.62,
        },
        "EXTREME INT8": {
            "call": 191.7, "element": 9.515,
        },
        "FETCH INT8": {
            "call": 110.2,
        },
        "FULLY_CONNECTED FLOAT32": {
            "call": 245.8, "output": 120.5, "tap": 1.435, "rest tap": 7.119,
        },
        "FULLY_CONNECTED INT8": {
            "call": 246.7, "taken": 19.61, "taken tile": 26.04, "four": 98.51, "four end": 59.75,
            "four end tap": 63.27, "one": 10.8, "one vector": 3.901, "four vector": 9.88,
        },
        "LOOKUP INT8": {
            "call": 153.2, "pixel": 0.1623, "element": 3.994,
        },
        "MAT_MUL FLOAT32": {
            "call": 318.5, "output": 42.43, "product": 11.87,
        },
        "MAT_MUL INT8": {
            "call": 1475, "output": 31.37, "read": 0.8152, "product": 2.328,
        },
        "MAX_POOL FLOAT32": {
            "call": 135.5, "tap": 15,
        },
        "MAX_POOL FLOAT32 2x2": {
            "call": 131.2, "tap": 23.07,
        },
        "MAX_POOL INT8": {
            "call": 148.4, "window": 75.01, "window vector": 5.369, "window row": 16.16, "window tap": 6.535,
        },
        "MEAN_OF_SUMS FLOAT32": {
            "call": 367.7, "read": 0.3804,
        },
        "MEAN_OF_SUMS INT8": {
            "call": 1070, "element": 24.5,
        },
        "MUL FLOAT32": {
            "call": 192.9, "row": 29.44, "pixel": 17.46, "element": 15.99,
        },
        "MUL INT8": {
            "call": 1281, "vector": 42.39,
        },
        "NORMALISE INT8": {
            "call": 321.1, "element": 30.04,
        },
        "PRELU INT8": {
            "call": 163600,
        },
        "QUANTIZE INT8": {
            "call": 164.5, "element": 27,
        },
        "REDUCE FLOAT32 1": {
            "call": 154.2, "read": 21.87,
        },
        "REDUCE FLOAT32 2": {
            "read": 22.19,
        },
        "REDUCE FLOAT32 3": {
            "call": 82310,
        },
        "REDUCE INT8 1": {
            "call": 172.9, "read": 5.529,
        },
        "REDUCE INT8 2": {
            "read": 5.973,
        },
        "REDUCE INT8 3": {
            "call": 25520,
        },
        "RESAMPLE FLOAT32 2x2": {
            "call": 164.3, "element": 166.3,
        },
        "RESAMPLE FLOAT32 4x4": {
            "call": 164, "element": 427.2,
        },
        "RESAMPLE INT8 2x2": {
            "call": 125, "element": 35.56,
        },
        "RESAMPLE INT8 4x4": {
            "call": 105.6, "element": 77.4,
        },
        "SCALE_SUMS FLOAT32": {
            "call": 187.5,
        },
        "SCALE_SUMS INT8": {
            "call": 263.7,
        },
        "SELECT FLOAT32": {
            "call": 362.3, "element": 5.379,
        },
        "SELECT FLOAT32 by channel": {
            "call": 229.1, "element": 28.33,
        },
        "SELECT INT8": {
            "row": 40.93, "pixel": 69.44,
        },
        "SELECT INT8 by channel": {
            "call": 224.8, "element": 10.83,
        },
        "SOFTMAX FLOAT32": {
            "call": 152.5, "pixel": 35.82, "element": 51.64,
        },
        "SOFTMAX INT8": {
            "call": 152.4, "vector": 284.2, "sixteen": 28.13, "four": 29.38,
        },
        "SUB FLOAT32": {
            "call": 187.5, "element": 16.6,
        },
        "SUB INT8": {
            "call": 291.7, "vector": 78.6,
        },
        "SUM_MAP FLOAT32": {
            "call": 97.98, "read": 5.315,
        },
        "SUM_MAP INT8": {
            "call": 180.4, "cleared": 2.105, "sum": 41.59, "sum pixel": 6.041,
        },
        "SUM_PRODUCTS FLOAT32": {
            "call": 190.5, "product": 2.044,
        },
        "SUM_PRODUCTS INT8": {
            "call": 174.9, "product": 2.938,
        },
        "TRANSPOSE FLOAT32": {
            "call": 335.7, "element": 23.37,
        },
        "TRANSPOSE INT8": {
            "call": 347, "row": 5.591, "element": 3.538,
        },
        "UNARY FLOAT32 2": {
            "call": 162.5, "element": 49,
        },
        "UNARY FLOAT32 4": {
            "call": 160.1, "row": 0.06907, "pixel": 0.0484, "element": 12.5,
        },
        "UNARY FLOAT32 6": {
            "call": 182300,
        },
        "VECTOR FLOAT32 1": {
            "call": 250.9, "element": 32.57,
        },
        "VECTOR FLOAT32 7": {
            "call": 180.2, "element": 27.94,
        },
        "executor": {
            "stage": 232.9, "view": 134.7, "operator": 17.38, "band": 41.83, "band operand": 395.2, "call": 236.4,
            "move": 73.92, "moved byte": 0.5871, "copy": 185.3, "copied byte": 0.7014, "decompressed block": 5.341,
            "copied block": 0.5551,
        },
    },
}
