"""TiGrIS for PlatformIO and ESP-IDF: ONNX models in memories far smaller than the model.

    from tigris_pio import compile_model, Session
    plan = compile_model("kws.onnx", fast="64K", slow="1M")
    plan.save("kws.tgrs")
    with Session("kws.tgrs") as session:
        y = session.run({"input": x})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Session", "__version__", "compile_model"]

if TYPE_CHECKING:
    from tigris_pio.compiler.pipeline import compile_model
    from tigris_pio.host import Session


def __getattr__(name: str) -> Any:
    """Imports the compiler and the host runtime when first asked for, not for a version or a size."""
    if name == "compile_model":
        from tigris_pio.compiler.pipeline import compile_model

        return compile_model
    if name == "Session":
        from tigris_pio.host import Session

        return Session
    raise AttributeError(name)
