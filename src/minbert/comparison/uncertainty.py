"""(variance of a difference over seeds, how well it is known, its variance over rows) -> p-values and intervals.

A difference x has the variance s + r: s from other seeds, r from other dev rows. The bootstrap knows r well. s is an
estimate with f degrees of freedom, and with few seeds a poor one: f s_hat / s has a chi-squared distribution. Given s,
x / sqrt(s + r) is normal. So, over everything that s may be,

    p(x) = mean of 2 Phi(-|x| / sqrt(s_hat f / chi2 + r)) over chi2 with f degrees of freedom

(the fiducial solution of Behrens and Fisher for one known variance). Without rows (r = 0) it is Student's t with f
degrees of freedom, without seeds (s_hat = 0) the normal distribution. Degrees of freedom after Welch and Satterthwaite
fail in between: where few seeds agree by chance, s_hat is small, their formula gives infinitely many degrees of
freedom, and the test becomes one over rows alone.

Q points of the chi-squared distribution, D draws, X differences.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special, stats

from minbert.data.metrics import Array

POINTS = 256
BISECTIONS = 60
# of the estimated variances, for the minimum detectable effect
DRAWS = 200


@dataclass(frozen=True)
class Uncertainty:
    # variance of the difference over seeds
    seeds: float
    # degrees of freedom of that estimate; 0 if there is none
    freedom: int
    # variance over dev rows that all seeds have in common
    rows: float

    @property
    def error(self) -> float:
        """The standard error."""
        return float((self.seeds + self.rows) ** 0.5)

    def p_value(self, difference: float) -> float:
        if not self.error:
            return float(not difference)
        return float(p_values(np.array([difference]), np.array([self.seeds]), self.freedom, self.rows)[0])

    def half_width(self, level: float) -> float:
        """The interval of a difference with this level of significance is as wide on both sides."""
        return float(critical_values(np.array([self.seeds]), self.freedom, self.rows, level)[0]) if self.error else 0.0


@lru_cache
def chi_squared_points(freedom: int) -> tuple[Array, Array]:
    """Values of f / chi2 and their weights, dense in both tails."""
    u_Q = (np.arange(POINTS) + 0.5) / POINTS
    weight_Q = np.pi / 2 * np.sin(np.pi * u_Q) / POINTS
    return freedom / stats.chi2.ppf((1 - np.cos(np.pi * u_Q)) / 2, freedom), weight_Q / weight_Q.sum()


def p_values(x_X: Array, seeds_X: Array, freedom: int, rows: float) -> Array:
    """Of each difference with its own variance over seeds."""
    if not freedom:
        return np.asarray(2 * special.ndtr(-np.abs(x_X) / np.sqrt(seeds_X + rows)))
    factor_Q, weight_Q = chi_squared_points(freedom)
    error_XQ = np.sqrt(seeds_X[:, None] * factor_Q + rows)
    return np.asarray(2 * special.ndtr(-np.abs(x_X)[:, None] / np.maximum(error_XQ, 1e-300)) @ weight_Q)


def critical_values(seeds_X: Array, freedom: int, rows: float, level: float) -> Array:
    """The difference whose p-value is the level, for each variance over seeds."""
    low_X, high_X = np.zeros(len(seeds_X)), np.sqrt(seeds_X + rows)
    while (above_X := p_values(high_X, seeds_X, freedom, rows) > level).any():
        high_X = np.where(above_X, 2 * high_X, high_X)
    for _ in range(BISECTIONS):
        middle_X = (low_X + high_X) / 2
        above_X = p_values(middle_X, seeds_X, freedom, rows) > level
        low_X, high_X = np.where(above_X, middle_X, low_X), np.where(above_X, high_X, middle_X)
    return (low_X + high_X) / 2


def minimum_detectable_effect(
    variance: float, systems: tuple[int, int], seeds: int, rows: float, own: float, level: float, power: float
) -> float:
    """The true difference that is found with this power at this level.

    `systems`: how many of the difference vary over seeds, two or one, and how many the variance is pooled over;
    `variance`: of one system's score over seeds; `rows`, `own`: as in `Evidence`. The estimates that the test uses are
    drawn from their distribution: each system's own variance, and the one pooled over all.
    """
    if seeds < 2:
        estimates_D, freedom, true = np.array([own]), 0, own
    else:
        draw, each, (sides, pooled) = np.random.default_rng(0), seeds - 1, systems
        sides_SD = draw.chisquare(each, (sides, DRAWS))
        others_D = draw.chisquare((pooled - sides) * each, DRAWS) if pooled > sides else 0.0
        freedom = pooled * each
        pooled_D = (sides_SD.sum(0) + others_D) / freedom
        estimates_D = variance * np.maximum(sides_SD / each, pooled_D).sum(0) / seeds
        estimates_D, true = np.maximum(estimates_D, own), max(sides * variance / seeds, own)
    if not true + rows:
        return 0.0
    critical_D = critical_values(estimates_D, freedom, rows, level)
    error = float((true + rows) ** 0.5)
    low, high = 0.0, 2 * float(critical_D.max()) + 4 * error
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        found = float(special.ndtr((middle - critical_D) / error).mean())
        low, high = (middle, high) if found < power else (low, middle)
    return (low + high) / 2
