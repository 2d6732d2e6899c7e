"""Records whose fields can be read as attributes and, like the JSON of the commands, by name."""

from __future__ import annotations

from typing import Any


class Fields:
    """Base of dataclasses that also answer `record["field"]`."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None
