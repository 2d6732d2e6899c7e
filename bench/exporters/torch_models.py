"""By torch.onnx.export, dynamo and legacy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from recorded import Arrays, Maker, write_all
from torch import nn
from torch.nn import functional

WIDE, STEPS = 32, 12


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU6(),
                                  nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.Hardswish(), nn.Conv2d(16, 32, 1),
                                  nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x).softmax(-1)


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.cells, self.head = kind(8, WIDE, batch_first=True), nn.Linear(WIDE, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.cells(x)[0][:, -1])


class Unrolled(nn.Module):
    """One cell, step by step: its weights are read STEPS times."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, WIDE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(1, WIDE)
        for step in range(STEPS):
            state = self.cell(x[:, step], state)
        return state


class Attention(nn.Module):
    """causal: by `is_causal`; else by a mask of padding, which is an input."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal, self.norm = causal, nn.LayerNorm(WIDE)
        self.embedding, self.into, self.out = nn.Embedding(50, WIDE), nn.Linear(WIDE, 3 * WIDE), nn.Linear(WIDE, 50)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = self.embedding(tokens)
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.into(self.norm(x)).chunk(3, -1))
        added = None if mask is None else (1 - mask.float())[:, None, None] * torch.finfo(torch.float32).min
        y = functional.scaled_dot_product_attention(q, k, v, added, is_causal=self.causal)
        return self.out(x + y.transpose(1, 2).flatten(2))


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, WIDE))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return functional.cosine_similarity(self.tower(a), self.tower(b))


class Spectrum(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = torch.stft(x, 64, 32, window=torch.hann_window(64), return_complex=False, center=False)
        return parts.square().sum(-1).add(1e-3).log()


class Boxes(nn.Module):
    """A grid decoded in the graph: constants that the exporter names itself."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, 6, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.head(x).sigmoid()
        rows = torch.arange(8.0).view(1, 1, 8, 1)
        columns = torch.arange(8.0).view(1, 1, 1, 8)
        centres = torch.cat([(y[:, :1] * 2 - 0.5 + columns) * 4, (y[:, 1:2] * 2 - 0.5 + rows) * 4], 1)
        score, kind = y[:, 4:].flatten(2).max(1)
        return torch.cat([centres, (y[:, 2:4] * 2) ** 2], 1).flatten(2), score * kind


TOKENS = torch.randint(0, 50, (1, STEPS))
MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    "cnn": lambda: (Cnn(), (torch.randn(1, 3, 32, 32),)),
    "gru": lambda: (Recurrent(nn.GRU), (torch.randn(1, STEPS, 8),)),
    "lstm": lambda: (Recurrent(nn.LSTM), (torch.randn(1, STEPS, 8),)),
    "unrolled": lambda: (Unrolled(), (torch.randn(1, STEPS, 8),)),
    "causal": lambda: (Attention(True), (TOKENS,)),
    "padded": lambda: (Attention(False), (TOKENS, torch.arange(STEPS)[None] < 9)),
    "towers": lambda: (Towers(), (torch.randn(1, 64), torch.randn(1, 64))),
    "stft": lambda: (Spectrum(), (torch.randn(1, 256),)),
    "boxes": lambda: (Boxes(), (torch.randn(1, 3, 8, 8),)),
    "half": lambda: (Cnn().half(), (torch.randn(1, 3, 32, 32).half(),)),
}


def _maker(name: str, dynamo: bool) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        torch.manual_seed(len(name))
        model, given = MODELS[name]()
        path = folder / f"{name}_{'dynamo' if dynamo else 'legacy'}.onnx"
        names = ["a", "b"][: len(given)]
        options = {"external_data": False} if dynamo else {"opset_version": 17}
        torch.onnx.export(model.eval(), given, str(path), input_names=names, dynamo=dynamo, **options)
        yield path, {key: value.numpy() for key, value in zip(names, given, strict=True)}

    return make


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    write_all({f"{name}_{'dynamo' if dynamo else 'legacy'}": _maker(name, dynamo)
               for name in MODELS for dynamo in (True, False)})
