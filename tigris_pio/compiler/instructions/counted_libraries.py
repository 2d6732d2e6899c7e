"""Instructions that kernels of libraries take, by library, machine, kernel and what is done. Generated.

Written by `python -m bench.calibrate_libraries --write`:
cmsis-nn at commit 99f736a6 (July 2026), counted under QEMU with gcc -O2 on 2026-11-23; cortex-m55 with MVE.
esp-nn 1.2.3, on 2026-11-23; rv32imc: C under QEMU; esp32s3: assembly interpreted, C estimated; esp32p4: interpreted.
pie on 2026-11-27; assembly interpreted, the C around it counted as rv32imc's under QEMU.
"""

from __future__ import annotations

from collections.abc import Mapping

LIBRARY_COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "cmsis-nn": {
        "cortex-m4": {
            "CONV_2D": {
                "call": 8407, "tap": 39.62, "window": 3.512, "output": 41.04, "product": 1.637, "left output": 8.833,
            },
            "CONV_2D 1x1": {
                "call": 286.3, "weight": 3.643, "input": 0.647, "window": 0.4286, "output": 39.66, "product": 1.059,
                "vector": 5.669, "left output": 6.248,
            },
            "CONV_2D few": {
                "call": 765.1, "pixel": 129, "tap": 34.91, "window": 5.217, "output": 50.15, "product": 1.422,
                "vector": 1.861,
            },
            "DEPTHWISE_CONV_2D": {
                "call": 182.9, "pixel": 167, "tap": 16.63, "window": 4.436, "output": 40.53, "product": 0.203,
                "vector": 53.9,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "input": 0.6306, "pixel": 117.8, "window": 7.362,
            },
            "FULLY_CONNECTED": {
                "call": 220.5, "weight": 1.338, "pixel": 250.7, "output": 44.94, "vector": 8.981,
            },
        },
        "cortex-m7": {
            "CONV_2D": {
                "input": 2.873, "tap": 30.67, "window": 4.785, "output": 36.37, "product": 1.243, "vector": 6.154,
                "left output": 60.39,
            },
            "CONV_2D 1x1": {
                "call": 273.6, "weight": 3.672, "input": 0.6819, "window": 0.4514, "output": 39.61, "product": 0.9653,
                "vector": 6.608, "left output": 6.453,
            },
            "CONV_2D few": {
                "call": 778.2, "pixel": 178.8, "tap": 35.71, "window": 4.843, "output": 48, "product": 1.37,
                "vector": 3.654,
            },
            "DEPTHWISE_CONV_2D": {
                "call": 241.9, "pixel": 149, "tap": 18.3, "window": 4.064, "output": 40.15, "product": 0.201,
                "vector": 54.73,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "input": 0.634, "pixel": 117.8, "window": 7.362,
            },
            "FULLY_CONNECTED": {
                "call": 279.3, "weight": 1.506, "pixel": 196.1, "output": 46.43, "vector": 6.128,
            },
        },
        "cortex-m55": {
            "CONV_2D": {
                "call": 575.1, "input": 0.5658, "pixel": 21.48, "tap": 17.6, "window": 0.9687, "output": 12.22,
                "product": 0.05097, "vector": 1.827, "left output": 47.25,
            },
            "CONV_2D 1x1": {
                "call": 573.1, "weight": 0.207, "input": 0.1305, "pixel": 9.945, "window": 0.1076, "output": 14.08,
                "product": 0.001157, "vector": 2.573, "left product": 0.04845,
            },
            "CONV_2D few": {
                "call": 2065, "input": 0.3822, "pixel": 104.2, "tap": 20.51, "output": 14, "vector": 3.138,
            },
            "DEPTHWISE_CONV_2D": {
                "call": 1019, "input": 0.7268, "pixel": 91.85, "tap": 2.033, "window": 0.7275, "output": 4.141,
                "product": 0.03603, "vector": 21.6,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "weight": 2.52, "pixel": 204.7, "window": 1.475, "vector": 9.149,
            },
            "FULLY_CONNECTED": {
                "call": 207.7, "pixel": 390.7, "output": 13.69, "vector": 7.522,
            },
        },
        "rv32imc": {
            "CONV_2D": {
                "call": 8586, "tap": 21.92, "window": 11.56, "output": 33.47, "product": 4.288, "left output": 3.035,
            },
            "CONV_2D 1x1": {
                "call": 177.4, "weight": 4.987, "input": 1.668, "output": 32.28, "product": 4.141, "vector": 1.268,
                "left product": 0.005906,
            },
            "CONV_2D few": {
                "call": 803.2, "input": 0.6898, "pixel": 132.2, "tap": 18.87, "window": 12.13, "output": 31.86,
                "product": 3.622, "vector": 10.26,
            },
            "DEPTHWISE_CONV_2D": {
                "weight": 9.544, "window": 13.43, "output": 176.8,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "input": 2.678, "pixel": 296.5, "window": 14.18,
            },
            "FULLY_CONNECTED": {
                "call": 126, "weight": 4.217, "input": 3.674, "pixel": 242.9, "output": 23.09, "vector": 19.01,
            },
        },
    },
    "esp-nn": {
        "rv32imc": {
            "CONV_2D": {
                "tap": 194.6, "output": 72.83, "product": 5.979,
            },
            "CONV_2D 1x1": {
                "call": 260.2, "weight": 0.06522, "pixel": 17.89, "window": 1.916, "output": 70.32, "product": 5.983,
                "vector": 0.04309, "left output": 2.83,
            },
            "CONV_2D few": {
                "weight": 1157, "tap": 68.67, "output": 85.66, "vector": 147.4,
            },
            "DEPTHWISE_CONV_2D": {
                "input": 2.737, "window": 5.776, "output": 69.89, "product": 0.1093,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "input": 1.264, "pixel": 192.9, "window": 11.79,
            },
            "FULLY_CONNECTED": {
                "call": 184, "weight": 8.302, "pixel": 158.1, "output": 36.81, "vector": 11.92,
            },
        },
        "esp32s3": {
            "CONV_2D": {
                "call": 1060, "weight": 3.741, "input": 0.5537, "pixel": 259.1, "tap": 22.47, "output": 65.26,
                "vector": 4.59,
            },
            "CONV_2D 1x1": {
                "call": 18.34, "weight": 0.008204, "pixel": 0.1155, "window": 0.5684, "output": 24.24,
                "product": 0.217, "left output": 62.13, "left product": 1.141,
            },
            "CONV_2D few": {
                "weight": 6.222, "pixel": 103.5, "output": 52,
            },
            "DEPTHWISE_CONV_2D": {
                "pixel": 121.5, "window": 2.226,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "call": 125.5, "weight": 2.672, "input": 0.5009, "window": 2.44, "vector": 27.97,
            },
            "FULLY_CONNECTED": {
                "call": 2.301, "input": 0.1883, "pixel": 12.09, "output": 50.38, "vector": 3.865,
            },
        },
        "esp32p4": {
            "CONV_2D": {
                "weight": 4.064, "input": 36.42, "tap": 82.29, "output": 45.59, "vector": 4.127,
            },
            "CONV_2D 1x1": {
                "weight": 2.178, "window": 1.948, "output": 62.33, "product": 0.3621, "left output": 69.06,
            },
            "CONV_2D few": {
                "pixel": 573.6, "tap": 5.298, "output": 141.1,
            },
            "DEPTHWISE_CONV_2D": {
                "weight": 12.28, "pixel": 337.4, "window": 3.571, "output": 25.93, "product": 0.001251,
            },
            "DEPTHWISE_CONV_2D 3x3": {
                "call": 6683, "weight": 28.59, "window": 6.517, "vector": 9.768,
            },
            "FULLY_CONNECTED": {
                "call": 1.222, "input": 0.064, "pixel": 39.01, "output": 65.44, "vector": 2.676,
            },
        },
    },
    "pie": {
        "esp32s3": {
            "CONV_2D": {
                "call": 49.13, "pixel": 101.5, "block": 45.55, "product": 15.54, "gathered": 91.62, "copied": 110.4,
                "copied row": 99.76, "copied byte": 1.884, "short block": 12.55, "short product": 17.41,
            },
            "CONV_2D 1x1": {
                "call": 397.3, "pixel": 8.988, "short block": 31.95, "short product": 8.653, "uneven": 99.95,
                "block": 72.01, "product": 15.04,
            },
            "DEPTHWISE_CONV_2D": {
                "call": 2.449, "row vector": 0.5348, "inside": 6.564, "inside vector": 87.17, "patch": 672.7,
                "patch vector": 170.2,
            },
            "FULLY_CONNECTED": {
                "call": 321.5, "block": 67.31, "product": 15.87, "uneven": 76.65, "short block": 27.95,
                "short product": 13.19,
            },
        },
    },
}
