"""Small networks written with PyTorch, exported as its users export theirs: python export.py [FOLDER]

Needs torch and onnxscript, which the tests do without: the models and torch's own outputs are kept beside this script,
`NAME.onnx` and `NAME.npz` with the input `x` and the outputs `y0`, `y1`, … Weights are random, seeded, and untrained.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as f
from torch import nn


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * f.hardsigmoid(self.up(f.relu(self.down(f.adaptive_avg_pool2d(x, 1)))))


class Mobile(nn.Module):
    """An inverted residual with BatchNorm, HardSwish and squeeze-excite."""

    def __init__(self) -> None:
        super().__init__()
        self.expand, self.norm = nn.Conv2d(6, 12, 1, bias=False), nn.BatchNorm2d(12)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.excite, self.project = SqueezeExcite(12), nn.Conv2d(12, 6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = f.hardswish(self.norm(self.expand(x)))
        return x + self.project(self.excite(f.hardswish(self.depthwise(y))))


class Shuffle(nn.Module):
    """Grouped convolution, channel shuffle by view and transpose, chunk."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 1, groups=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        batch, channels, height, width = y.shape
        y = y.view(batch, 2, channels // 2, height, width).transpose(1, 2).contiguous()
        left, right = y.view(batch, channels, height, width).chunk(2, 1)
        return torch.cat([f.relu(left), right], 1)


class UNet(nn.Module):
    """One level with bilinear upsampling and a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.outer, self.inner = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 8, 3, padding=1)
        self.last = nn.Conv2d(14, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = f.relu(self.outer(x))
        deep = f.relu(self.inner(f.max_pool2d(skip, 2)))
        deep = f.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.last(torch.cat([skip, deep], 1)))


class Sensor(nn.Module):
    """Dilated 1-D convolutions, a mean over time, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(3, 8, 5, padding=2, stride=2)
        self.second, self.last = nn.Conv1d(8, 8, 3, padding=2, dilation=2), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return f.softmax(self.last(f.relu(self.second(f.relu(self.first(x)))).mean(-1)), -1)


class Head(nn.Module):
    """A detector's SPPF and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.reduce, self.join, self.out = nn.Conv2d(8, 4, 1), nn.Conv2d(16, 8, 1), nn.Conv2d(8, 9, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        pooled = [f.silu(self.reduce(x))]
        for _ in range(3):
            pooled.append(f.max_pool2d(pooled[-1], 5, 1, 2))
        out = self.out(f.silu(self.join(torch.cat(pooled, 1))))
        return out[:, :4], torch.sigmoid(out[:, 4:]).flatten(2).permute(0, 2, 1)


class Mixer(nn.Module):
    """Tokens, LayerNorm, GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.tokens, self.second = nn.LayerNorm(8), nn.Linear(16, 16), nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.down(f.gelu(self.up(self.second(x))))


class Decoder(nn.Module):
    """Transposed convolutions with output padding."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.first = nn.Linear(10, 8 * 16), nn.ConvTranspose2d(8, 6, 4, 2, 1)
        self.second = nn.ConvTranspose2d(6, 2, 3, 2, 1, output_padding=1)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.second(f.leaky_relu(self.first(self.dense(z).view(-1, 8, 4, 4)), 0.1)))


class Attention(nn.Module):
    """Two heads by einsum."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(x).chunk(3, -1)
        q, k, v = (part.view(1, 12, 2, 4).transpose(1, 2) for part in parts)
        weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k) * 0.5, -1)
        return torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).reshape(1, 12, 8)


NETWORKS = {
    "mobile": (Mobile, (1, 6, 16, 16)),
    "shuffle": (Shuffle, (1, 8, 8, 8)),
    "unet": (UNet, (1, 3, 16, 16)),
    "sensor": (Sensor, (1, 3, 64)),
    "head": (Head, (1, 8, 8, 8)),
    "mixer": (Mixer, (1, 8, 4, 4)),
    "decoder": (Decoder, (1, 10)),
    "attention": (Attention, (1, 12, 8)),
}


def export(name: str, dynamo: bool, folder: Path) -> None:
    """One network through one of torch's exporters, without the notes on where it was made."""
    kind, shape = NETWORKS[name]
    torch.manual_seed(1)
    network, x = kind().eval(), torch.randn(shape)
    with torch.no_grad():
        result = network(x)
    outputs = result if isinstance(result, tuple) else (result,)
    options = {"verbose": False, "external_data": False} if dynamo else {"opset_version": 17}
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/model.onnx"
        torch.onnx.export(network, (x,), path, dynamo=dynamo, input_names=["x"], **options)
        model = onnx.load(path)
    del model.metadata_props[:]
    for item in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        item.doc_string = ""
        del item.metadata_props[:]
    onnx.save(model, folder / f"{name}.onnx")
    np.savez_compressed(folder / f"{name}.npz", x=x.numpy(), **{f"y{i}": y.numpy() for i, y in enumerate(outputs)})


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for index, network_name in enumerate(NETWORKS):
        export(network_name, dynamo=index % 2 == 1, folder=target)
