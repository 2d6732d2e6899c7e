"""Records whose fields can be read as attributes or by name, like the commands' JSON."""

from typing import Any


class Fields:
    """Base of dataclasses that support `record["field"]`."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None
