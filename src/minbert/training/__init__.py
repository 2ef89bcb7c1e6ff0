"""Training: stages, samplers, balancers, regularizers, the loop."""
