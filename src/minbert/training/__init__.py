"""How a model learns: stages, samplers, balancers, regularizers, the loop."""
