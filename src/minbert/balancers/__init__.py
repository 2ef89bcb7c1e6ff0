"""Balancers: the losses of a step -> gradients."""

from collections.abc import Callable

from minbert.balancers.base import Balancer
from minbert.balancers.sum import Sum

BALANCERS: dict[str, Callable[..., Balancer]] = {
    "sum": Sum,
}

__all__ = ["BALANCERS", "Balancer"]
