"""Balancers: the losses of a step -> gradients."""

from collections.abc import Callable

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.dwa import DynamicWeightAverage
from minbert.training.balancers.famo import Famo
from minbert.training.balancers.gradnorm import GradNorm
from minbert.training.balancers.gradvac import GradVac
from minbert.training.balancers.pcgrad import PCGrad
from minbert.training.balancers.squared import Squared
from minbert.training.balancers.sum import Sum
from minbert.training.balancers.uncertainty import Uncertainty
from minbert.training.balancers.weighted import Weighted

BALANCERS: dict[str, Callable[..., Balancer]] = {
    "dwa": DynamicWeightAverage,
    "famo": Famo,
    "gradnorm": GradNorm,
    "gradvac": GradVac,
    "pcgrad": PCGrad,
    "squared": Squared,
    "sum": Sum,
    "uncertainty": Uncertainty,
    "weighted": Weighted,
}

__all__ = ["BALANCERS", "Balancer"]
