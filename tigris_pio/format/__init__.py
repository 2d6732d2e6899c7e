"""The `.tgrs` plan format, which SPEC.md describes.

- `enums`, `records`, `params` define the records with `record`
- `kinds` has the traits of each kind of operator, among them its record; `work` counts multiplications
- `packing` orders the weights as kernels read them, `pie` in the streams of the ESP32-S3's vector kernels
- `reader` reads a plan; `describe` makes the output of `tigris inspect`
- `c_header` and `spec` generate C headers and the tables of SPEC.md
"""
