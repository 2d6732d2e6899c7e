"""The `.tgrs` plan format, which SPEC.md describes.

- `enums`, `records`, `params` define the records with `record`
- `reader` reads a plan; `describe` makes the output of `tigris inspect`
- `c_header` and `spec` generate C headers and the tables of SPEC.md
"""
