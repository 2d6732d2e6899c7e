"""The `.tgrs` plan format: records, generated C header, writer and reader. SPEC.md is its text."""
