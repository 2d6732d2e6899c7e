"""By skl2onnx."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from recorded import Arrays, Maker, write_all
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

X, Y = make_classification(200, 12, n_informative=6, n_classes=3, random_state=0)
X = X.astype(np.float32)
MODELS: dict[str, Any] = {
    "scaler_logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "logistic_two_classes": LogisticRegression(),
    "minmax_sgd": make_pipeline(MinMaxScaler(), SGDClassifier(random_state=0)),
    "normalizer_linear": make_pipeline(Normalizer(), LinearRegression()),
    "robust_ridge": make_pipeline(RobustScaler(), Ridge()),
    "pca_logistic": make_pipeline(MaxAbsScaler(), PCA(5), LogisticRegression()),
    "linear_svc": LinearSVC(),
    "svc": SVC(probability=False),
    "svr": SVR(),
    "mlp_classifier": make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=50, random_state=0)),
    "mlp_regressor": MLPRegressor(hidden_layer_sizes=(16,), max_iter=50, random_state=0),
    "naive_bayes": GaussianNB(),
    "k_means": KMeans(3, random_state=0, n_init=1),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, random_state=0),
}


def _maker(name: str) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        target = np.minimum(Y, 1) if "two" in name else Y
        model = MODELS[name].fit(X, target)
        path = folder / f"{name}.onnx"
        options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
        path.write_bytes(to_onnx(model, X[:1], target_opset=18, options=options).SerializeToString())
        yield path, {"X": X[:1]}
        if name == "scaler_logistic":
            path = folder / f"{name}_zipmap.onnx"
            path.write_bytes(to_onnx(model, X[:1], target_opset=18).SerializeToString())
            yield path, {"X": X[:1]}

    return make


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    write_all({name: _maker(name) for name in MODELS})
