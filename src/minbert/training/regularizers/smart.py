"""Predictions should not change when the embeddings are perturbed a little, in the worst direction.

weight * max over |d| <= epsilon of l(f(x + d), f(x)), where l is the symmetric KL, or the squared difference of scores.
`bregman` adds bregman * l(f(x), f'(x)), f' the model with the moving average of its past weights, which keeps each
update small. Jiang et al. 2020, https://arxiv.org/abs/1911.03437

B examples, T tokens, D width, O outputs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor
from torch.func import functional_call

from minbert.data.batch import Batch
from minbert.data.packed import Packed
from minbert.encoder.bert import EncoderHooks
from minbert.model.adapters.stack import HookStack
from minbert.model.multitask import Model
from minbert.training.regularizers.base import Regularizer
from minbert.training.regularizers.divergence import Divergence


class Perturbation(EncoderHooks):
    """Adds a perturbation to the embeddings of a batch."""

    def __init__(self, by_TD: Tensor) -> None:
        self.by_TD = by_TD

    def on_embeddings(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD + self.by_TD


class Smart(Regularizer):
    """Penalizes predictions that change when the embeddings are perturbed adversarially (SMART)."""

    def __init__(
        self,
        model: Model,
        task: str,
        seed: int,
        *,
        weight: float = 1.0,
        epsilon: float = 1e-5,
        noise: float = 1e-5,
        step: float = 1e-3,
        steps: int = 1,
        masks: Literal["new", "same"] = "new",
        bregman: float = 0.0,
        momentum: float = 0.99,
    ) -> None:
        """`steps` of gradient ascent; 0: only random noise. `masks`: dropout masks of the compared passes."""
        super().__init__(model, task, seed)
        wrong = [
            rule
            for rule, kept in {
                "weight >= 0 and bregman >= 0, one of them above 0": min(weight, bregman) >= 0 < max(weight, bregman),
                "epsilon, noise and step > 0": min(epsilon, noise, step) > 0,
                "steps >= 0": steps >= 0,
                "0 <= momentum < 1": 0 <= momentum < 1,
            }.items()
            if not kept
        ]
        if wrong:
            raise ValueError(f"needs {'; '.join(wrong)}")
        self.module = model.task(task)
        self.divergence = Divergence(self.module.loss)
        self.weight, self.epsilon, self.noise, self.step, self.steps = weight, epsilon, noise, step, steps
        self.masks, self.bregman, self.momentum = masks, bregman, momentum
        self.generator = torch.Generator().manual_seed(self.seed)
        self.past = {name: own.detach().clone() for name, own in self.used_weights().items()} if bregman else {}

    def used_weights(self) -> dict[str, Tensor]:
        """The weights that this task uses: all but those of other tasks."""
        mine = f"parts.task_{self.task}."
        every = self.model.named_parameters()
        return {name: each for name, each in every if name.startswith(mine) or not name.startswith("parts.")}

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor:
        zero_TD = torch.zeros(batch.tokens, self.model.bert.config.hidden_size, device=self.model.device)
        drawn = self.model.bert.dropout_generator.state() if self.masks == "same" else None
        clean_BO = output_BO if drawn is None else self.output(batch, zero_TD, drawn)
        total = torch.zeros((), device=self.model.device)
        if self.weight:
            worst_TD = self.worst(batch, clean_BO.detach(), drawn)
            total = total + self.weight * self.divergence(self.output(batch, worst_TD, drawn), clean_BO)
        if self.past:
            with torch.no_grad():
                past_BO = self.output(batch, zero_TD, drawn, self.past)
            total = total + self.bregman * self.divergence(clean_BO, past_BO)
        return total

    def output(
        self, batch: Batch, by_TD: Tensor, drawn: Tensor | None, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """A pass with perturbed embeddings; `drawn`: the state of the dropout generator to start from."""
        if drawn is not None:
            self.model.bert.dropout_generator.restore(drawn)
        hooks = HookStack((self.module.hooks, Perturbation(by_TD)))
        return functional_call(self.model, dict(weights or {}), (batch, hooks)).float()  # type: ignore[no-any-return]

    def worst(self, batch: Batch, clean_BO: Tensor, drawn: Tensor | None) -> Tensor:
        """The perturbation within epsilon that changes the predictions most, as far as the ascent finds it."""
        size = batch.tokens, self.model.bert.config.hidden_size
        start_TD = self.noise * torch.randn(size, generator=self.generator).to(self.model.device)

        def gap(by_TD: Tensor) -> Tensor:
            return self.divergence(self.output(batch, by_TD, drawn), clean_BO)

        # an example may have two sequences: the batch has all first ones, then all second ones
        example_T = batch.packed.sequence_T % batch.examples
        return ascend(gap, start_TD, example_T, self.step, self.steps, self.epsilon)

    def after_step(self) -> None:
        if self.past:
            own = self.used_weights()
            with torch.no_grad():
                for name, past in self.past.items():
                    past.lerp_(own[name], 1 - self.momentum)

    def state(self) -> dict[str, Any]:
        return {"generator": self.generator.get_state(), "past": self.past}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.set_state(state["generator"])
        for name, past in state["past"].items():
            self.past[name].copy_(past)


def ascend(
    gap: Callable[[Tensor], Tensor], by_TD: Tensor, example_T: Tensor, step: float, steps: int, epsilon: float
) -> Tensor:
    """Gradient ascent on `gap` from `by_TD`, with the gradient of each example scaled to a largest element of 1.

    No element of the result is above epsilon. The parameters of the model get no gradient.
    """
    for _ in range(steps):
        by_TD = by_TD.detach().requires_grad_()
        (gradient_TD,) = torch.autograd.grad(gap(by_TD), by_TD)
        largest_T = gradient_TD.abs().amax(1)
        largest_B = largest_T.new_zeros(int(example_T.max()) + 1).scatter_reduce(0, example_T, largest_T, "amax")
        # a gradient of 0 must not divide by 0
        scale_T = step / largest_B[example_T].clamp(min=torch.finfo(largest_B.dtype).tiny)
        by_TD = (by_TD.detach() + scale_T[:, None] * gradient_TD).clamp(-epsilon, epsilon)
    return by_TD.detach().clamp(-epsilon, epsilon)
