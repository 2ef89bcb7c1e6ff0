"""(features of frozen vectors, labels) -> the weights of a linear layer: ridge or logistic regression.

The strength of the L2 penalty is chosen on the training rows: by generalized cross-validation for ridge, by k folds for
logistic regression. Blocks of features (u, |u-v|, ...) are scaled as wholes, and the cosine of a pair is not penalized:
with little data the fit falls back to a line over the cosine, or to the label mean or the class frequencies.

N rows, F features, O outputs, K features without a penalty.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Doubles = npt.NDArray[np.float64]

FOLDS = 3
# relative to features of unit variance: from almost no penalty to almost no influence of the penalized features
RIDGE_PENALTIES = np.logspace(-4, 4, 25)
# of the sum of the losses
LOGISTIC_PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
# more precision than this changes no prediction
ITERATIONS, TOLERANCE = 100, 1e-5


@dataclass(frozen=True)
class LinearFit:
    """output = features @ weight_OF.T + bias_O"""

    weight_OF: Doubles
    bias_O: Doubles
    penalty: float

    def predict(self, features_NF: npt.NDArray[np.float32]) -> Doubles:
        output_NO: Doubles = features_NF @ self.weight_OF.T + self.bias_O
        return output_NO

    def scaled(self, factor: float) -> "LinearFit":
        """The same most probable labels, with smaller differences between them."""
        return LinearFit(self.weight_OF * factor, self.bias_O * factor, self.penalty)


@dataclass(frozen=True)
class FeatureScaling:
    """Features with mean 0, and blocks of them with a mean variance of 1."""

    mean_F: Doubles
    scale_F: Doubles

    @staticmethod
    def of(features_NF: npt.NDArray[np.float32], blocks: Sequence[int]) -> "FeatureScaling":
        mean_F = features_NF.mean(0, dtype=np.float64)
        variance_F = features_NF.var(0, dtype=np.float64)
        parts = np.split(variance_F, np.cumsum(blocks)[:-1])
        spread = [max(float(np.sqrt(part.mean())), 1e-12) for part in parts]
        return FeatureScaling(mean_F, np.repeat(spread, blocks))

    def __call__(self, features_NF: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return ((features_NF - self.mean_F) / self.scale_F).astype(np.float32)

    def undo(self, weight_OF: Doubles, bias_O: Doubles, penalty: float) -> LinearFit:
        """The same linear map on features as they were."""
        weight_OF = weight_OF / self.scale_F
        return LinearFit(weight_OF, bias_O - weight_OF @ self.mean_F, penalty)


def free_features(blocks: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which features have no penalty: blocks of one number, the cosine."""
    return np.repeat([block == 1 for block in blocks], blocks)


# ---- scores -------------------------------------------------------------------------------------------


def fit_ridge(features_NF: npt.NDArray[np.float32], labels_N: Doubles, blocks: Sequence[int]) -> LinearFit:
    scaling = FeatureScaling.of(features_NF, blocks)
    x_NF = scaling(features_NF).astype(np.float64)
    free_F = free_features(blocks)
    fixed_NK = np.column_stack([np.ones(len(x_NF)), x_NF[:, free_F]])
    # what the features without a penalty explain is taken out of all others first (Frisch, Waugh and Lovell)
    basis_NK, _ = np.linalg.qr(fixed_NK)
    rest_NF = x_NF[:, ~free_F] - basis_NK @ (basis_NK.T @ x_NF[:, ~free_F])
    rest_N = labels_N - basis_NK @ (basis_NK.T @ labels_N)
    penalized_F, penalty = generalized_cross_validation(rest_NF, rest_N, fixed_NK.shape[1])
    fixed_K, *_ = np.linalg.lstsq(fixed_NK, labels_N - x_NF[:, ~free_F] @ penalized_F, rcond=None)
    weight_F: Doubles = np.empty(len(free_F))
    weight_F[free_F], weight_F[~free_F] = fixed_K[1:], penalized_F
    return scaling.undo(weight_F[None], np.asarray(fixed_K[:1], np.float64), penalty)


def generalized_cross_validation(x_NF: Doubles, y_N: Doubles, used: int) -> tuple[Doubles, float]:
    """The ridge weights with the smallest GCV error, and their penalty; `used` degrees of freedom are spent already."""
    if not x_NF.shape[1]:
        return np.empty(0), 0.0
    value_F, vector_FF = np.linalg.eigh(x_NF.T @ x_NF / len(x_NF))
    value_F = np.maximum(value_F, 0.0)
    turned_F = vector_FF.T @ (x_NF.T @ y_N) / len(x_NF)
    total = float(y_N @ y_N) / len(y_N)
    best: tuple[float, float, Doubles] | None = None
    for penalty in RIDGE_PENALTIES:
        weight_F = turned_F / (value_F + penalty)
        error = total - 2 * float(weight_F @ turned_F) + float(weight_F @ (value_F * weight_F))
        freedom = used + float((value_F / (value_F + penalty)).sum())
        loss = error / max(1e-9, 1 - freedom / len(y_N)) ** 2 if freedom < len(y_N) else np.inf
        if best is None or loss < best[0]:
            best = loss, float(penalty), weight_F
    assert best is not None
    return vector_FF @ best[2], best[1]


# ---- labels -------------------------------------------------------------------------------------------


def fit_logistic(
    features_NF: npt.NDArray[np.float32], labels_N: npt.NDArray[np.int64], classes: int, blocks: Sequence[int]
) -> LinearFit:
    """Multinomial logistic regression, with one row of weights per class."""
    scaling = FeatureScaling.of(features_NF, blocks)
    problem = Logistic(scaling(features_NF), labels_N, classes, free_features(blocks))
    fold_N = folds_of(labels_N)
    losses = np.zeros(len(LOGISTIC_PENALTIES))
    for fold in range(FOLDS):
        held_N = fold_N == fold
        if held_N.all() or not held_N.any():
            continue
        part, start = problem.rows(~held_N), None
        for number, penalty in enumerate(LOGISTIC_PENALTIES):
            # each fit starts from the one with a larger penalty
            start = part.fit(penalty, start)
            losses[number] += problem.rows(held_N).loss(start)
    penalty = LOGISTIC_PENALTIES[int(losses.argmin())]
    weight_CF, bias_C = problem.split(problem.fit(penalty * FOLDS / (FOLDS - 1)))
    return scaling.undo(weight_CF, bias_C, penalty)


def folds_of(labels_N: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A fold for each row, such that the rows of each class are spread evenly."""
    fold_N = np.empty(len(labels_N), np.int64)
    order = np.random.default_rng(0).permutation(len(labels_N))
    ordered = order[np.argsort(labels_N[order], kind="stable")]
    fold_N[ordered] = np.arange(len(labels_N)) % FOLDS
    return fold_N


class Logistic:
    """The loss of a multinomial logistic regression and its gradient."""

    def __init__(
        self,
        x_NF: npt.NDArray[np.float32],
        labels_N: npt.NDArray[np.int64],
        classes: int,
        free_F: npt.NDArray[np.bool_],
    ) -> None:
        self.x_NF, self.labels_N, self.classes, self.free_F = x_NF, labels_N, classes, free_F

    def rows(self, chosen_N: npt.NDArray[np.bool_]) -> "Logistic":
        return Logistic(self.x_NF[chosen_N], self.labels_N[chosen_N], self.classes, self.free_F)

    def split(self, parameters: Doubles) -> tuple[Doubles, Doubles]:
        weight_CF = parameters[: -self.classes].reshape(self.classes, -1)
        return weight_CF, parameters[-self.classes :]

    def log_probabilities(self, parameters: Doubles) -> Doubles:
        weight_CF, bias_C = self.split(parameters)
        logits_NC = (self.x_NF @ weight_CF.T.astype(np.float32)).astype(np.float64) + bias_C
        logits_NC -= logits_NC.max(1, keepdims=True)
        normalized_NC: Doubles = logits_NC - np.log(np.exp(logits_NC).sum(1, keepdims=True))
        return normalized_NC

    def loss(self, parameters: Doubles) -> float:
        """The sum of the rows' losses, without a penalty."""
        return -float(self.log_probabilities(parameters)[np.arange(len(self.labels_N)), self.labels_N].sum())

    def fit(self, penalty: float, start: Doubles | None = None) -> Doubles:
        penalty_F = np.where(self.free_F, 0.0, penalty)
        rows = np.arange(len(self.labels_N))

        def objective(parameters: Doubles) -> tuple[float, Doubles]:
            log_NC = self.log_probabilities(parameters)
            weight_CF, _ = self.split(parameters)
            loss = -float(log_NC[rows, self.labels_N].sum()) + float((penalty_F * weight_CF**2).sum()) / 2
            residual_NC = np.exp(log_NC)
            residual_NC[rows, self.labels_N] -= 1
            gradient_CF = (residual_NC.T.astype(np.float32) @ self.x_NF).astype(np.float64) + penalty_F * weight_CF
            return loss, np.concatenate([gradient_CF.ravel(), residual_NC.sum(0)])

        if start is None:
            start = np.zeros(self.classes * (self.x_NF.shape[1] + 1))
            # without features: the frequencies of the classes, none of them 0
            start[-self.classes :] = np.log(np.bincount(self.labels_N, minlength=self.classes) + 0.5)
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS, "ftol": TOLERANCE}
        )
        return np.asarray(found.x)
