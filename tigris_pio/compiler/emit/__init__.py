"""Writes execution plans: writer.py the bytes of a `.tgrs` file, model_header.py the C header of a model."""
