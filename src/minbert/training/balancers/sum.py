"""The gradient of the sum of the losses."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from minbert.training.balancers.base import Balancer


class SumBalancer(Balancer):
    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        total = sum(losses.values())
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]
