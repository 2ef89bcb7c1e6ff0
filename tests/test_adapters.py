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
    "lhuc": "lhuc",
    "lora": {"name": "lora", "rank": 3},
    "low_rank": {"name": "low_rank", "size": 5},
    "own_layers": "own_layers",
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


BOTTLENECKS = ("houlsby", "low_rank", "pal")


@pytest.mark.parametrize("name", BOTTLENECKS)
@pytest.mark.parametrize("bias", [False, True])
def test_a_normal_start_changes_the_vectors_at_once_and_a_zero_start_does_not(name: str, bias: bool) -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    torch.manual_seed(0)
    spec = SMALL[name]
    assert isinstance(spec, dict)
    with torch.no_grad():
        plain_TD = bert(packed)
        for start, same in (("zero", True), ("normal", False)):
            adapter = make({**spec, "start": start, "bias": bias}, bert).eval()
            assert torch.equal(bert(packed, hooks=HookStack([adapter])), plain_TD) == same


@pytest.mark.parametrize("name", BOTTLENECKS)
def test_every_matrix_of_a_normal_start_is_drawn_as_berts_and_every_bias_is_zero(name: str) -> None:
    torch.manual_seed(0)
    adapter = make({"name": name, "size": 96, "start": "normal", "bias": True}, tiny_bert())
    for parameter in adapter.parameters():
        # 3,072 numbers or more: their standard deviation is .02 to .0003, one standard deviation
        expected = 0 if parameter.ndim == 1 else pytest.approx(0.02, abs=0.001)
        assert parameter.std().item() == expected and abs(parameter.mean().item()) < 0.002


@pytest.mark.parametrize("name", BOTTLENECKS)
def test_the_defaults_draw_the_numbers_they_always_drew(name: str) -> None:
    """Matrices in the order in which they are made, each first by torch and then by BERT's rule; the last is zero."""
    spec, bert = SMALL[name], tiny_bert()
    assert isinstance(spec, dict)
    size = spec["size"]
    torch.manual_seed(0)
    adapter = make(spec, bert)
    after = torch.get_rng_state()
    torch.manual_seed(0)
    downs = []
    for _ in range({"houlsby": 4, "low_rank": 2, "pal": 1}[name]):
        down, _ = torch.nn.Linear(32, size, bias=False), torch.nn.Linear(size, 32, bias=False)
        downs.append(down.weight.data.normal_(std=0.02))
    if name == "pal":
        layers = [torch.nn.Linear(size, 3 * size, bias=False) for _ in range(2)]
        downs += [layer.weight.data.normal_(std=0.02) for layer in layers]
    found = [each for key, each in adapter.named_parameters() if "up" not in key]
    assert all(torch.equal(one, other) for one, other in zip(found, downs, strict=True))
    assert torch.equal(after, torch.get_rng_state())


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


def fill(module: Any, **weights: Any) -> None:
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


def test_the_biases_of_a_pal_are_added_to_both_projections_and_to_queries_keys_and_values() -> None:
    """One token attends to itself: V^E h + b = 1 + .5, its value 1.5 + .25, and V^D gives (1.75 + 1, -1.75 + 2)."""
    pal = make({"name": "pal", "size": 1, "heads": 1, "bias": True, "activation": "none"}, one_head_bert()).eval()
    fill(pal, around__down__weight=[[0.5, 0.5]], around__up__weight=[[1.0], [-1.0]], asking__0__weight=[[1.0]] * 3)
    fill(pal, around__down__bias=[0.5], around__up__bias=[1.0, 2.0], asking__0__bias=[7.0, 7.0, 0.25])
    close(pal.parallel_branch(0, torch.tensor([[1.0, 1.0]]), packed_of([1])), [[2.75, 0.25]])


def test_a_bottleneck_with_biases() -> None:
    """GELU(.5 + .5 + .5) = GELU(1.5), then (1, -1) times that plus (10, 20)."""
    adapter = make({"name": "low_rank", "size": 1, "bias": True, "activation": "gelu"}, one_head_bert())
    fill(adapter, layers__0__down__weight=[[0.5, 0.5]], layers__0__up__weight=[[1.0], [-1.0]])
    fill(adapter, layers__0__down__bias=[0.5], layers__0__up__bias=[10.0, 20.0])
    found = adapter.parallel_branch(0, torch.tensor([[1.0, 1.0]]), packed_of([1]))
    close(found, [[10 + gelu(1.5), 20 - gelu(1.5)]])


def test_lhuc_scales_hidden_units_between_nothing_and_twice() -> None:
    """2 sigmoid(a): 1 at 0, 2 * 3/4 at ln 3, 2 * 1/4 at -ln 3, almost 0 at -30."""
    adapter = make("lhuc", one_head_bert())
    h_TF = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    assert torch.equal(adapter.on_hidden(0, h_TF), h_TF)
    assert torch.equal(adapter.on_hidden(0, h_TF.bfloat16()), h_TF.bfloat16())
    fill(adapter, amplitudes__0=[0.0, math.log(3), -math.log(3), -30.0])
    close(adapter.on_hidden(0, h_TF), [[1.0, 3.0, 1.5, 0.0]])


def test_scaling_hidden_units_is_scaling_the_columns_of_the_matrix_that_reads_them() -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    lhuc = shaken(make("lhuc", bert))
    with torch.no_grad():
        found_TD = bert(packed, hooks=HookStack([lhuc]))
        for number, layer in enumerate(bert.layers):
            layer.outer.weight.mul_(2 * torch.sigmoid(lhuc.get_parameter(f"amplitudes.{number}")))
        torch.testing.assert_close(found_TD, bert(packed))


def test_own_layers_take_the_place_of_the_highest() -> None:
    """With the copy of the last of two layers zeroed but for its last norm, every vector is the bias of that norm."""
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    own = make({"name": "own_layers", "layers": 1}, bert).eval()
    hooks = HookStack([own])
    with torch.no_grad():
        plain_TD = bert(packed)
        assert torch.equal(bert(packed, hooks=hooks), plain_TD)
        bert.layers[1].norm.bias.fill_(9.0)
        assert torch.equal(bert(packed, hooks=hooks), plain_TD), "the copy does not follow the shared layer"
        bert.layers[0].norm.bias.add_(1.0)
        assert not torch.allclose(bert(packed, hooks=hooks), plain_TD, atol=1e-3), "the layer below is the shared one"
        for parameter in own.parameters():
            parameter.zero_()
        own.get_parameter("layers.0.norm.bias").copy_(torch.arange(32.0))
        assert torch.equal(bert(packed, hooks=hooks), torch.arange(32.0).expand(sum(LENGTHS), 32))


def test_own_layers_leave_no_gradient_in_those_they_replace() -> None:
    bert = tiny_bert()
    bert(packed_of(LENGTHS), hooks=HookStack([make({"name": "own_layers", "layers": 1}, bert)])).sum().backward()
    reached = {name for name, parameter in bert.named_parameters() if parameter.grad is not None}
    assert reached == {name for name, _ in bert.named_parameters() if name.startswith(("embeddings.", "layers.0."))}


def test_other_adapters_work_inside_own_layers() -> None:
    bert, packed = tiny_bert().eval(), packed_of(LENGTHS)
    own = make("own_layers", bert).eval()
    others = [shaken(make(SMALL[name], bert)) for name in ("houlsby", "lhuc", "lora", "low_rank", "pal", "top_layer")]
    with torch.no_grad():
        expected_TD = bert(packed, hooks=HookStack(others))
        for adapters in ([own, *others], [*others, own]):
            assert torch.equal(bert(packed, hooks=HookStack(adapters)), expected_TD)


def test_own_layers_draw_dropout_from_the_encoders_generator_and_none_when_frozen() -> None:
    bert, packed = tiny_bert(), packed_of(LENGTHS)
    own = make("own_layers", bert)
    drawn = bert.dropout_generator.state()
    with torch.no_grad():
        plain_TD = bert(packed)
        bert.dropout_generator.restore(drawn)
        assert torch.equal(bert(packed, hooks=HookStack([own])), plain_TD)
        own.requires_grad_(False)
        assert not any(module.training for module in own.train().modules())
        own.requires_grad_(True)
        assert all(module.training for module in own.train().modules())


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
        ("own_layers", 12 * 12 * 768**2),
        ({"name": "own_layers", "layers": 3}, 3 * 12 * 768**2),
    ],
    ids=str,
)
def test_adapters_on_bert_base_have_the_sizes_of_the_reports(spec: Spec, expected: int) -> None:
    assert count(spec) == expected


@pytest.mark.parametrize(
    ("spec", "matrices", "vectors"),
    [
        # V^E, V^D, and query, key and value of each layer
        ({"name": "pal", "bias": True}, 1_811_520, 204 + 768 + 12 * 3 * 204),
        ({"name": "low_rank", "bias": True}, 3_760_128, 12 * (204 + 768)),
        ({"name": "houlsby", "bias": True}, 7_520_256, 12 * 2 * (204 + 768)),
        ({"name": "pal", "start": "normal"}, 1_811_520, 0),
        ("lhuc", 0, 12 * 3072),
        ("own_layers", 84_934_656, 12 * 9_984),
    ],
    ids=str,
)
def test_biases_and_other_vectors_are_counted_beside_the_matrices(spec: Spec, matrices: int, vectors: int) -> None:
    assert (count(spec), count(spec, matrices_only=False)) == (matrices, matrices + vectors)


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
        ({"name": "own_layers", "layers": 0}, "layers 0 is not between 1 and 2, the number of layers of the encoder"),
        ({"name": "own_layers", "layers": 3}, "layers 3 is not between 1 and 2"),
        ({"name": "pal", "start": "random"}, "'zero' or 'normal'"),
    ],
)
def test_impossible_sizes_are_refused(spec: Spec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(spec, tiny_bert())
