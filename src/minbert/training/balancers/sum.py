"""The gradient of the plain sum of the losses."""

from minbert.training.balancers.base import Balancer


class SumBalancer(Balancer):
    """Adds up the losses of all tasks."""
