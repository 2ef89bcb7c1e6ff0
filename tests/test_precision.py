"""bf16 against fp32: the same learning, within what another seed would change; the same labels."""

from pathlib import Path

import numpy as np
import pytest
import torch

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert
from minbert.training.loop import Loop
from minbert.training.prepare import prepare
from tests.tiny import tiny_bert
from tests.workbench import demo_recipe

STEPS = 200


def curve(tiny: Path, task: str, *overrides: str) -> np.ndarray:
    """The losses of 200 steps, as a running mean."""
    joined = ("tasks.similarity.head=linear", "tasks.similarity.pairing=cross_encoder")
    # small batches: where a processor has no units for bf16, its products take twenty times as long
    recipe = demo_recipe(
        tiny,
        f'stages.0.tasks=["{task}"]',
        "optimizer.learning_rate=1e-3",
        f"tasks.{task}.batch_size=8",
        *joined,
        *overrides,
        steps=STEPS,
    )
    ready = prepare(recipe, None)
    steps = iter(Loop(ready.model, ready.setup))
    losses = [step.losses[task] for step in steps]
    return np.convolve(losses, np.ones(40) / 40, "valid")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sentiment", "paraphrase", "similarity"])
def test_200_steps_in_bf16_stay_within_the_spread_of_three_seeds(tiny: Path, task: str) -> None:
    seeds = np.stack([curve(tiny, task, "precision=fp32", f"seed={seed}") for seed in (0, 1, 2)])
    low, high = seeds.min(0), seeds.max(0)
    bf16 = curve(tiny, task, "precision=bf16", "seed=0")
    assert seeds[0][-1] < 0.95 * seeds[0][0], "something was learned"
    # a margin of a tenth of the loss where three seeds happen to agree
    slack = 0.1 * low
    assert (bf16 > low - slack).all()
    assert (bf16 < high + slack).all()


def test_bf16_vectors_are_fp32_vectors_to_three_digits() -> None:
    bert: Bert = tiny_bert().eval()
    packed = Packed(torch.arange(30), torch.zeros(30, dtype=torch.int64), torch.tensor([4, 17, 9]))
    with torch.no_grad():
        exact_TD = bert(packed)
        bert.dtype = torch.bfloat16
        rough_TD = bert(packed)
        stored_TD = bert.to(torch.bfloat16)(packed)
    assert rough_TD.dtype == stored_TD.dtype == torch.bfloat16
    for found_TD in (rough_TD, stored_TD):
        near = torch.nn.functional.cosine_similarity(found_TD.float(), exact_TD, dim=1)
        assert near.min() > 0.999


def test_weights_and_their_gradients_stay_fp32() -> None:
    bert = tiny_bert()
    bert.dtype = torch.bfloat16
    packed = Packed(torch.arange(12), torch.zeros(12, dtype=torch.int64), torch.tensor([5, 7]))
    bert.train()(packed, "first").float().square().sum().backward()
    for name, parameter in bert.named_parameters():
        if not name.startswith("pooler"):
            assert parameter.grad is not None, name
            assert parameter.dtype == parameter.grad.dtype == torch.float32, name
