"""Adapters: their formulas by hand, the counts of the reports, and that only their own task feels them.

T tokens, D width.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from minbert.config.schema import Spec, build_technique
from minbert.data.packed import Packed
from minbert.data.pos_tags import POS_TAGS
from minbert.encoder.bert import CONFIGS, NO_HOOKS, Bert
from minbert.errors import UserError
from minbert.model.adapters import ADAPTERS, Adapter
from minbert.model.adapters.stack import HookStack
from tests.tiny import one_head_bert, tiny_bert

# settings that fit the tiny encoder
SMALL: dict[str, Spec] = {
    "houlsby": {"name": "houlsby", "size": 5},
    "lora": {"name": "lora", "rank": 3},
    "low_rank": {"name": "low_rank", "size": 5},
    "pal": {"name": "pal", "size": 8, "heads": 2},
    "pos_tags": "pos_tags",
    "top_layer": "top_layer",
}
LENGTHS = [4, 9, 2]


def make(spec: Spec, bert: Bert) -> Adapter:
    return build_technique("adapter", ADAPTERS, spec, "test", bert)


def packed_of(lengths: list[int]) -> Packed:
    ids_T = torch.arange(sum(lengths)) % 50
    return Packed(ids_T, torch.zeros_like(ids_T), torch.tensor(lengths), tags_T=ids_T % len(POS_TAGS))


def shaken(adapter: Adapter, seed: int = 0) -> Adapter:
    """With weights that do something: fresh ones may be zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in adapter.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return adapter.eval()


def test_every_adapter_is_tried_here() -> None:
    assert set(SMALL) == set(ADAPTERS)


@pytest.mark.parametrize("name", [name for name in ADAPTERS if name != "top_layer"])
def test_a_fresh_adapter_changes_nothing(name: str) -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    with torch.no_grad():
        adapted_TD = bert(packed, hooks=HookStack([make(SMALL[name], bert).eval()]))
        torch.testing.assert_close(adapted_TD, bert(packed))


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_that_learned_changes_the_vectors_alike_alone_and_among_others(name: str) -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    hooks = HookStack([shaken(make(SMALL[name], bert))])
    with torch.no_grad():
        together_TD = bert(packed, hooks=hooks)
        assert not torch.allclose(together_TD, bert(packed), atol=1e-3)
        first_SD = bert(packed, "first", hooks)
        torch.testing.assert_close(first_SD, together_TD[packed.starts_S])
        for ids_L, expected_LD in zip(packed.ids_T.split(LENGTHS), together_TD.split(LENGTHS), strict=True):
            zeros_L = torch.zeros_like(ids_L)
            alone = Packed(ids_L, zeros_L, torch.tensor([len(ids_L)]), tags_T=ids_L % len(POS_TAGS))
            torch.testing.assert_close(bert(alone, hooks=hooks), expected_LD, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ADAPTERS)
def test_gradients_reach_every_parameter_of_an_adapter(name: str) -> None:
    bert = tiny_bert()
    adapter = shaken(make(SMALL[name], bert)).train()
    bert(packed_of(LENGTHS), hooks=HookStack([adapter])).square().mean().backward()
    for key, parameter in adapter.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), key


def test_adapters_beside_a_layer_are_summed_and_the_others_follow_one_another() -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    beside = [shaken(make(SMALL[name], bert), seed) for seed, name in enumerate(("pal", "low_rank"))]
    x_TD = torch.randn(sum(LENGTHS), 32)
    with torch.no_grad():
        both_TD = HookStack(beside).parallel_branch(1, x_TD, packed)
        torch.testing.assert_close(both_TD, sum(each.parallel_branch(1, x_TD, packed) for each in beside))
    assert HookStack([make("top_layer", bert)]).parallel_branch(0, x_TD, packed) is None


# ---- formulas by hand -----------------------------------------------------------------------------------


def fill(module: Any, **weights: list[list[float]]) -> None:
    for name, value in weights.items():
        target = module.get_parameter(name.replace("__", "."))
        with torch.no_grad():
            target.copy_(torch.tensor(value))


def gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def close(found: Tensor, expected: list[list[float]]) -> None:
    torch.testing.assert_close(found.detach(), torch.tensor(expected), atol=1e-6, rtol=0)


def test_pal_is_its_equation() -> None:
    """V^E = (.5, .5), queries = keys = values = V^E h, V^D = (1, -1), GELU at the end."""
    pal = make({"name": "pal", "size": 1, "heads": 1}, one_head_bert()).eval()
    fill(
        pal,
        around__down__weight=[[0.5, 0.5]],
        around__up__weight=[[1.0], [-1.0]],
        asking__0__weight=[[1.0], [1.0], [1.0]],
    )
    # tokens (1, 1) and (0, 0) become 1 and 0; the first looks at both by softmax(1, 0), the second by (.5, .5)
    x_TD = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    first = math.e / (math.e + 1)
    close(pal.parallel_branch(0, x_TD, packed_of([2])), [[gelu(first), gelu(-first)], [gelu(0.5), gelu(-0.5)]])
    close(pal.parallel_branch(0, x_TD, packed_of([1, 1])), [[gelu(1), gelu(-1)], [0, 0]])


def test_low_rank_is_two_products() -> None:
    adapter = make({"name": "low_rank", "size": 1}, one_head_bert())
    fill(adapter, layers__0__down__weight=[[0.5, 0.5]], layers__0__up__weight=[[1.0], [-1.0]])
    close(adapter.parallel_branch(0, torch.tensor([[1.0, 3.0]]), packed_of([1])), [[2.0, -2.0]])


def test_houlsby_adds_to_what_it_reads() -> None:
    adapter = make({"name": "houlsby", "size": 1}, one_head_bert())
    for place in ("after_attention", "after_feed_forward"):
        fill(adapter, **{f"{place}__0__down__weight": [[0.5, 0.5]], f"{place}__0__up__weight": [[1.0], [-1.0]]})
    x_TD = torch.tensor([[1.0, 1.0]])
    for found in (adapter.on_attention(0, x_TD), adapter.on_feed_forward(0, x_TD)):
        close(found, [[1 + gelu(1), 1 - gelu(1)]])


def test_lora_changes_queries_and_values_by_alpha_over_r() -> None:
    """A = (1, 1), B = (1, 2), alpha / r = 2: x = (1, 2) gives 2 * (3, 6) more."""
    adapter = make({"name": "lora", "rank": 1, "alpha": 2.0}, one_head_bert())
    fill(adapter, down__0__weight=[[1.0, 1.0], [1.0, 1.0]], up__0=[[[1.0, 2.0]], [[1.0, 2.0]]])
    found = adapter.on_qkv(0, torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
    close(found, [[7.0, 14.0, 3.0, 4.0, 11.0, 18.0]])


def test_a_copied_top_layer_is_one_more_pass_through_the_last() -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    top = make({"name": "top_layer", "start": "copy"}, bert).eval()
    with torch.no_grad():
        x_TD = bert(packed)
        torch.testing.assert_close(top.on_output(x_TD, packed), bert.layers[-1](x_TD, packed, NO_HOOKS, 1))


# ---- the counts of the reports --------------------------------------------------------------------------


def count(spec: Spec, shape: str = "base", matrices_only: bool = True) -> int:
    with torch.device("meta"):
        adapter = make(spec, Bert(CONFIGS[shape]))
    return sum(p.numel() for p in adapter.parameters() if p.ndim > 1 or not matrices_only)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("pal", 2 * 204 * 768 + 12 * 3 * 204**2),
        ({"name": "pal", "size": 324}, 2 * 324 * 768 + 12 * 3 * 324**2),
        ("low_rank", 12 * 2 * 768 * 204),
        ("houlsby", 12 * 4 * 768 * 204),
        ("top_layer", 12 * 768**2),
        ("lora", 12 * 2 * 2 * 8 * 768),
        # the seventeen universal tags, and none
        ("pos_tags", 18 * 768),
    ],
    ids=str,
)
def test_adapters_on_bert_base_have_the_sizes_of_the_reports(spec: Spec, expected: int) -> None:
    assert count(spec) == expected


def test_three_pals_make_bert_base_a_twentieth_larger() -> None:
    """The 1.13 of the report takes d for the inner width, so twelve layers have 42.5M; other readings beside it."""
    three = 3 * count("pal")
    assert three == 5_434_560
    assert 1 + three / (12 * 6 * 768**2) == pytest.approx(1.128, abs=5e-4)
    assert 1 + three / (12 * 12 * 768**2) == pytest.approx(1.064, abs=5e-4)
    with torch.device("meta"):
        whole = sum(p.numel() for p in Bert(CONFIGS["base"]).parameters())
    assert whole == 109_482_240
    assert 1 + three / whole == pytest.approx(1.0496, abs=5e-5)
    # eight tasks, as in the paper of the method
    assert 1 + 8 * count("pal") / whole == pytest.approx(1.1324, abs=5e-5)


def test_a_top_layer_has_its_biases_and_norms_too() -> None:
    assert count("top_layer", matrices_only=False) == 12 * 768**2 + 9_984


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "pal", "size": 326}, "12 heads do not divide the size 326; for example, use size = 324"),
        ({"name": "low_rank", "size": 0}, "size 0 is not at least 1"),
        ({"name": "lora", "matrices": ["output"]}, "matrices from query, key, value"),
        ({"name": "top_layer", "layers": 0}, "layers 0 is not at least 1"),
    ],
)
def test_impossible_sizes_are_refused(spec: Spec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(spec, tiny_bert())
