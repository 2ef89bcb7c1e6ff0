"""Balancers: the losses of a step -> gradients."""

from collections.abc import Callable

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.dwa import DwaBalancer
from minbert.training.balancers.famo import FamoBalancer
from minbert.training.balancers.gradnorm import GradNormBalancer
from minbert.training.balancers.gradvac import GradVacBalancer
from minbert.training.balancers.pcgrad import PCGradBalancer
from minbert.training.balancers.squared import SquaredBalancer
from minbert.training.balancers.sum import SumBalancer
from minbert.training.balancers.uncertainty import UncertaintyBalancer
from minbert.training.balancers.weighted import WeightedBalancer

BALANCERS: dict[str, Callable[..., Balancer]] = {
    "dwa": DwaBalancer,
    "famo": FamoBalancer,
    "gradnorm": GradNormBalancer,
    "gradvac": GradVacBalancer,
    "pcgrad": PCGradBalancer,
    "squared": SquaredBalancer,
    "sum": SumBalancer,
    "uncertainty": UncertaintyBalancer,
    "weighted": WeightedBalancer,
}

__all__ = ["BALANCERS", "Balancer"]
