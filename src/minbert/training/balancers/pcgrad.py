"""PCGrad: where the gradients of two tasks conflict, each is projected onto the normal plane of the other.

For each task i and the others j in random order: if g_i . g_j < 0, g_i <- g_i - (g_i . g_j / |g_j|^2) g_j, with the
original g_j; then the sum. Yu et al. 2020, algorithm 1, https://arxiv.org/abs/2001.06782; named by report B.
"""

from minbert.training.balancers.surgery import GradientSurgery


class PCGradBalancer(GradientSurgery):
    """Removes from each task's gradient the component that points against another task's gradient."""

    def correction(self, one: str, other: str, product: float, norm: float, other_norm: float) -> float:
        return -product / other_norm**2 if product < 0 < other_norm else 0.0
