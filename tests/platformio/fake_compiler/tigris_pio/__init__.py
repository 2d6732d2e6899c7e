"""Stands for the compiler where the build around it is tested.

Models are JSON: {"plan": "text", "repeat": N, "fast": BYTES, "slow": BYTES, "interface": N,
"scale": X}.
"""
