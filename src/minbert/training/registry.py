"""All families of techniques that a recipe can name, with their settings and descriptions."""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minbert.config.schema import describe_type, settings_of
from minbert.model.resolve import MODEL_FAMILIES
from minbert.training.balancers import BALANCERS
from minbert.training.optimizers import OPTIMIZERS
from minbert.training.regularizers import REGULARIZERS
from minbert.training.samplers import SAMPLERS
from minbert.training.schedules import SCHEDULES
from minbert.training.weight_averages import AVERAGES

# the setting that names a technique -> its family
FAMILIES: dict[str, Mapping[str, Callable[..., Any]]] = {
    **MODEL_FAMILIES,
    "regularizers": REGULARIZERS,
    "sampler": SAMPLERS,
    "balancer": BALANCERS,
    "weight_averaging": AVERAGES,
    "algorithm": OPTIMIZERS,
    "schedule": SCHEDULES,
}


@dataclass(frozen=True)
class Technique:
    family: str
    name: str
    about: str
    # setting -> its default, or its type if the recipe must give it
    settings: dict[str, Any]


def list_techniques() -> list[Technique]:
    found = []
    for family, table in FAMILIES.items():
        for name, make in table.items():
            settings = {
                key: describe_type(each.annotation) if each.default is each.empty else each.default
                for key, each in settings_of(make).items()
            }
            found.append(Technique(family, name, describe_technique(make), settings))
    return found


def describe_technique(make: Callable[..., Any]) -> str:
    """The first paragraph of its docstring, or of that of its module."""
    text = make.__dict__.get("__doc__") if inspect.isclass(make) else make.__doc__
    text = text or sys.modules[make.__module__].__doc__ or ""
    return " ".join(text.strip().split("\n\n")[0].split())
