"""Balancers: the losses of a step -> gradients."""

from collections.abc import Callable

from minbert.balancers.base import Balancer
from minbert.balancers.dwa import DynamicWeightAverage
from minbert.balancers.famo import Famo
from minbert.balancers.gradnorm import GradNorm
from minbert.balancers.gradvac import GradVac
from minbert.balancers.pcgrad import PCGrad
from minbert.balancers.squared import Squared
from minbert.balancers.sum import Sum
from minbert.balancers.uncertainty import Uncertainty
from minbert.balancers.weighted import Weighted

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
