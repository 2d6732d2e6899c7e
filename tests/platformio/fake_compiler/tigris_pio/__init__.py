"""A fake of the compiler, for tests of the build. Models are JSON: {"plan": "text", "repeat": N, "fast": BYTES, "slow":
BYTES, "interface": N, "scale": X}."""
