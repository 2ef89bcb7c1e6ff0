"""Regularizers: their numbers by hand, each on small real models, and that they remember what they must.

B examples, T tokens, D width, O outputs.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from minbert.config.recipe import TaskPlan
from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task
from minbert.data.batch import Batch, collate, encode_texts
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.encoder.init import empty_weights
from minbert.errors import UserError
from minbert.model.losses import LOSSES
from minbert.model.multitask import Model
from minbert.training.regularizers import REGULARIZERS, Regularizer
from minbert.training.regularizers.divergence import Divergence
from minbert.training.regularizers.mixout import Mixout
from minbert.training.regularizers.smart import Smart, ascend
from tests.tiny import tiny_bert, tiny_config, tiny_tokenizer

TASKS = {
    "mood": Task("mood", Path(), kind="classify", text=("a",), label="c", labels=(0, 1, 2)),
    "same": Task("same", Path(), kind="classify", text=("a", "b"), label="c", labels=(0, 1)),
    "alike": Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0)),
}
TEXTS = (["a good film", "the dog runs in the water", "no"], ["what is it ?", "two dogs", "yes it is very good"])
ADAPTERS: tuple[Spec, ...] = ({"name": "houlsby", "size": 4}, {"name": "pal", "size": 8, "heads": 2}, "top_layer")
PLANS = {
    "one text": ("mood", TaskPlan(pooling="cls")),
    "cross_encoder": ("same", TaskPlan()),
    "bi_encoder": ("same", TaskPlan(pairing="bi_encoder", loss="bce")),
    "both orders": ("same", TaskPlan(symmetric=True)),
    "score": ("alike", TaskPlan(pairing="cross_attention")),
    "ranked": ("alike", TaskPlan(pairing="bi_encoder", loss="pearson", head="cosine")),
    "adapters": ("same", TaskPlan(adapters=ADAPTERS)),
    "adapters apart": ("alike", TaskPlan(adapters=({"name": "lora", "rank": 2},), pairing="bi_encoder")),
}
PLAIN = TaskPlan()
# what soft_sharing needs of its task and of the neighbour; the layer below stays shared
OWN: Spec = {"name": "own_layers", "layers": 1}
OWN_LAYERS = TaskPlan(adapters=(OWN,))
# both KLs between (1/2, 1/2) and (3/4, 1/4): a quarter of the difference of their log-odds, ln 3
APART = math.log(3) / 4


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return tiny_tokenizer(tmp_path_factory.mktemp("text"))


def model_of(task: str, plan: TaskPlan, dropout: float = 0.1, neighbour: TaskPlan = PLAIN) -> Model:
    """A small real model of the task and of a neighbour."""
    config = replace(tiny_config(), hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        plans = {task: plan, "mood_": neighbour}
        model = Model(tiny_bert(config=config), {task: TASKS[task], "mood_": TASKS["mood"]}, plans, "")
    with torch.no_grad():
        # scores in the middle of their range, where they can go both ways
        for name, parameter in model.task(task).head.named_parameters():
            parameter.add_(2.5 if name == "output.bias" and TASKS[task].kind == "score" else 0)
    return model.train()


def plain(task: str, tokenizer: Tokenizer, **settings: Any) -> tuple[Model, Batch]:
    """Without dropout, so that every pass gives the same."""
    plan = TaskPlan(head={"name": "linear", "dropout": 0.0}, **settings)
    model = model_of(task, plan, dropout=0.0)
    return model, batch_of(model, task, tokenizer)


def batch_of(model: Model, task: str, tokenizer: Tokenizer) -> Batch:
    sequences = encode_texts(tokenizer, TEXTS[: len(TASKS[task].text)], model.task(task).layout, 32)
    labels = np.array([0, 1, 1]) if TASKS[task].kind == "classify" else np.array([0.5, 2.0, 5.0])
    return collate(task, sequences, labels, np.arange(3))


def make(spec: Spec, model: Model, task: str, seed: int = 0) -> Any:
    return build_technique("regularizer", REGULARIZERS, spec, "test", model, task, seed)


def loss_with(model: Model, regularizers: Sequence[Regularizer], batch: Batch) -> Tensor:
    """A batch's loss and what the regularizers add, as the loop computes it."""
    replaced: dict[str, Tensor] = {}
    for each in regularizers:
        replaced |= each.weights()
    output_BO = functional_call(model, replaced, (batch,))
    loss = model.task(batch.task).loss(output_BO.float(), batch.labels_B)
    penalties = [each.penalty(batch, output_BO, loss) for each in regularizers]
    return loss + sum(penalty for penalty in penalties if penalty is not None)


def shake(model: Model, by: float = 0.02, seed: int = 0) -> None:
    """Move all weights, as a step would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(by * torch.randn(parameter.shape, generator=generator))


def fill(module: torch.nn.Module, value: float) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(value)


def answer_always(model: Model, task: str, *logits: float) -> None:
    """Let the head answer by its bias alone."""
    head = model.task(task).head
    with torch.no_grad():
        head.output.weight.zero_()
        head.output.bias.copy_(torch.tensor(logits))


# ---- every one of them ----------------------------------------------------------------------------------

TOGETHER = ["mixout", "r_drop", "smart", "soft_sharing", "towards_start"]


@pytest.mark.parametrize("where", PLANS)
@pytest.mark.parametrize("names", [*([name] for name in REGULARIZERS), TOGETHER], ids="+".join)
def test_it_adds_to_the_loss_of_its_task_and_teaches_its_weights_and_no_others(
    names: list[str], where: str, tokenizer: Tokenizer
) -> None:
    task, plan = PLANS[where]
    shares = "soft_sharing" in names
    if shares:
        plan = replace(plan, adapters=(OWN, *plan.adapters))
    neighbour = OWN_LAYERS if shares else PLAIN
    model = model_of(task, plan, neighbour=neighbour)
    regularizers = [make(name, model, task) for name in names]
    shake(model)
    batch = batch_of(model, task, tokenizer)
    loss = loss_with(model, regularizers, batch)
    assert loss.shape == () and loss.isfinite() and loss.dtype == torch.float32
    assert all(parameter.grad is None for parameter in model.parameters()), "nothing is left behind before the way back"
    loss.backward()
    reached = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    bare = model_of(task, plan, neighbour=neighbour)
    bare.loss(batch).backward()
    expected = {name for name, parameter in bare.named_parameters() if parameter.grad is not None}
    # the pull to the start is on all of the encoder, its pooler too
    everything = {name for name in dict(model.named_parameters()) if name.startswith("bert.")}
    # tasks that share softly pull each other's layers
    neighbours = {name for name in dict(model.named_parameters()) if name.startswith("parts.task_mood_.adapters.")}
    assert bool(neighbours) == shares
    assert reached == expected | neighbours | (everything if "towards_start" in names else set())


@pytest.mark.parametrize("spec", [*REGULARIZERS, {"name": "smart", "bregman": 1.0, "masks": "same"}], ids=str)
def test_its_memory_lets_another_go_on_in_its_place(spec: Spec, tokenizer: Tokenizer) -> None:
    plan = OWN_LAYERS if spec == "soft_sharing" else PLAIN
    model = model_of("same", plan, neighbour=plan)
    batch = batch_of(model, "same", tokenizer)
    first = make(spec, model, "same")
    for seed in range(2):
        shake(model, seed=seed)
        loss_with(model, [first], batch)
        first.after_step()
    kept, noise = copy.deepcopy(first.state()), model.bert.dropout_generator.state()
    # another seed and another start, as if nothing were known
    second = make(spec, model, "same", seed=1)
    found = []
    for each in (first, second):
        model.bert.dropout_generator.restore(noise)
        if each is second:
            second.restore(copy.deepcopy(kept))
        found.append([loss_with(model, [each], batch).item() for _ in range(3)])
    assert found[0] == found[1]
    assert first.state().keys() == kept.keys()


def test_what_goes_on_does_not_change_what_was_saved() -> None:
    model = model_of("same", PLAIN)
    saved = make({"name": "smart", "bregman": 1.0}, model, "same").state()
    kept = copy.deepcopy(saved)
    second = make({"name": "smart", "bregman": 1.0}, model, "same")
    second.restore(saved)
    shake(model)
    second.after_step()
    for name, past in kept["past"].items():
        assert torch.equal(past, saved["past"][name])


@pytest.mark.parametrize("name", REGULARIZERS)
def test_it_can_be_checked_on_a_model_without_numbers(name: str) -> None:
    with empty_weights():
        tasks = {name: TASKS[name] for name in ("same", "mood")}
        model = Model(Bert(tiny_config()), tasks, dict.fromkeys(tasks, OWN_LAYERS), "test")
    assert make(name, model, "same").task == "same"


@pytest.mark.parametrize("name", ["smart", "r_drop"])
def test_what_answers_nothing_has_no_answers_to_compare(name: str) -> None:
    plan = TaskPlan(pairing="bi_encoder", head="vectors", loss="contrastive")
    with pytest.raises(
        UserError, match=f"test: regularizer '{name}': compares predictions, but this task's loss makes none"
    ):
        make(name, model_of("same", plan), "same")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "smart", "weight": 0.0}, "one of them above 0"),
        ({"name": "smart", "bregman": -1.0}, "bregman >= 0"),
        ({"name": "smart", "epsilon": 0.0}, "epsilon, noise and step > 0"),
        ({"name": "smart", "steps": -1}, "steps >= 0"),
        ({"name": "smart", "momentum": 1.0}, "0 <= momentum < 1"),
        ({"name": "smart", "masks": "old"}, "'new' or 'same'"),
        ({"name": "r_drop", "weight": 0}, "weight 0.0 is not above 0"),
        ({"name": "towards_start", "weight": -1}, "weight -1.0 is not above 0"),
        ({"name": "soft_sharing", "weight": 0.0}, "weight 0.0 is not above 0"),
        ({"name": "mixout", "rate": 1.0}, "rate 1.0 is not between 0 and 1"),
    ],
)
def test_impossible_settings_are_refused(spec: Spec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(spec, model_of("same", PLAIN), "same")


# ---- how far answers are apart --------------------------------------------------------------------------


def divergence_of(loss: str, task: str) -> Divergence:
    return Divergence(build_technique("loss", LOSSES, loss, "test", TASKS[task]))


def test_probabilities_differ_by_kl_both_ways() -> None:
    """.5 ln(.5/.75) + .5 ln(.5/.25) = .143841, and .75 ln(.75/.5) + .25 ln(.25/.5) = .130812."""
    even, odd = torch.zeros(2, 2), torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    between = divergence_of("cross_entropy", "same")
    assert between(even[:1], odd[:1]).item() == pytest.approx(0.143841 + 0.130812, abs=1e-6)
    # a mean over the examples, of which the second's answers agree
    assert between(even, odd).item() == between(odd, even).item() == pytest.approx(APART / 2)
    one_output = divergence_of("bce", "same")
    assert one_output(torch.zeros(1, 1), torch.full((1, 1), math.log(3))).item() == pytest.approx(APART)


def test_scores_differ_by_their_square_where_the_answers_do() -> None:
    between = divergence_of("mse", "alike")
    # outputs of 7 and 6 are both the answer 5
    assert between(torch.tensor([[3.0], [7.0]]), torch.tensor([[1.0], [6.0]])).item() == (4 + 0) / 2


@pytest.mark.parametrize("loss", ["cross_entropy", "bce"])
def test_certain_answers_have_finite_divergences_and_slopes(loss: str) -> None:
    between = divergence_of(loss, "same")
    one_BO = torch.tensor([[-1000.0, 1000.0], [200.0, -200.0]])[:, : 2 if loss == "cross_entropy" else 1]
    one_BO.requires_grad_()
    found = between(one_BO, -one_BO.detach())
    found.backward()
    assert found.isfinite() and found > 1 and one_BO.grad is not None and one_BO.grad.isfinite().all()


def test_answers_that_nearly_agree_keep_their_digits() -> None:
    """p (1 - p) (change of the log-odds)^2: far below what fp32 holds of p, where p is nearly 1."""
    between = divergence_of("bce", "same")
    sure, surer = torch.tensor([[12.0]]), torch.tensor([[12.0 + 2**-10]])
    p = 1 / (1 + math.exp(-12))
    assert between(sure, surer).item() == pytest.approx(p * (1 - p) * 2**-20, rel=1e-3)


# ---- r_drop ---------------------------------------------------------------------------------------------


def test_r_drop_is_its_equation(tokenizer: Tokenizer) -> None:
    """The model answers (1/2, 1/2) again, after a pass with (3/4, 1/4): with weight 1 the KLs add .137327."""
    model, batch = plain("same", tokenizer)
    answer_always(model, "same", 0.0, 0.0)
    first_BO = torch.tensor([[math.log(3), 0.0]] * 3)
    first = model.task("same").loss(first_BO, batch.labels_B)
    # labels 0, 1, 1 under (3/4, 1/4)
    assert first.item() == pytest.approx((math.log(4 / 3) + 2 * math.log(4)) / 3)
    for weight in (1.0, 4.0):
        total = first + make({"name": "r_drop", "weight": weight}, model, "same").penalty(batch, first_BO, first)
        assert total.item() == pytest.approx((first.item() + math.log(2)) / 2 + weight / 2 * APART, abs=1e-6)
    assert pytest.approx(0.137327, abs=1e-6) == APART / 2


def test_r_drop_of_scores_is_the_square_of_their_difference(tokenizer: Tokenizer) -> None:
    model, batch = plain("alike", tokenizer)
    answer_always(model, "alike", 3.0)
    first_BO = torch.full((3, 1), 1.0)
    first = model.task("alike").loss(first_BO, batch.labels_B)
    penalty = make({"name": "r_drop", "weight": 2.0}, model, "alike").penalty(batch, first_BO, first)
    # labels .5, 2, 5 and an answer of 3
    again = (2.5**2 + 1 + 2**2) / 3
    assert (first + penalty).item() == pytest.approx((first.item() + again) / 2 + 2 * 2**2)


def test_r_drop_asks_nothing_of_a_model_without_dropout_and_something_of_one_with(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    output_BO = model(batch)
    loss = model.task("same").loss(output_BO, batch.labels_B)
    assert make("r_drop", model, "same").penalty(batch, output_BO, loss).item() == 0
    model = model_of("same", PLAIN)
    first_BO = model(batch)
    loss = model.task("same").loss(first_BO, batch.labels_B)
    drawn = model.bert.dropout_generator.state()
    penalty = make("r_drop", model, "same").penalty(batch, first_BO, loss)
    model.bert.dropout_generator.restore(drawn)
    second_BO = model(batch)
    apart = divergence_of("cross_entropy", "same")(first_BO, second_BO)
    second = model.task("same").loss(second_BO, batch.labels_B)
    assert apart > 0 and penalty.item() == pytest.approx(((second - loss) / 2 + apart / 2).item(), abs=1e-6)


# ---- smart ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "expected"), [(1e-5, 9e-10), (1e-3, 9e-6), (1.0, 9 * 1.01e-3**2)])
def test_the_ascent_by_hand(epsilon: float, expected: float) -> None:
    """f(x) = 3 x: a first move of 1e-5 has the slope 1.8e-4, made 1; a step of 1e-3 leads to 1.01e-3, then the ball."""

    def gap(by_TD: Tensor) -> Tensor:
        return (3 * by_TD).square().sum()

    first_TD = torch.tensor([[1e-5]], dtype=torch.float64)
    found_TD = ascend(gap, first_TD, torch.tensor([0]), step=1e-3, steps=1, epsilon=epsilon)
    assert gap(found_TD).item() == pytest.approx(expected)
    assert not found_TD.requires_grad and first_TD.item() == 1e-5


def test_each_example_climbs_by_its_own_largest_slope() -> None:
    """Tokens 0 and 2 are the two texts of the first example. Slopes (2, 8), (100, 0), (4, -4), step 1."""
    slope_TD = torch.tensor([[2.0, 8.0], [100.0, 0.0], [4.0, -4.0]])
    example_T = torch.tensor([0, 1, 0])

    def gap(by_TD: Tensor) -> Tensor:
        return (by_TD * slope_TD).sum()

    found_TD = ascend(gap, torch.zeros(3, 2), example_T, step=1.0, steps=1, epsilon=9.0)
    assert found_TD.tolist() == [[0.25, 1.0], [1.0, 0.0], [0.5, -0.5]]
    assert ascend(gap, torch.zeros(3, 2), example_T, 1.0, 3, 2.0).tolist() == [[0.75, 2.0], [2.0, 0.0], [1.5, -1.5]]


@pytest.mark.parametrize("pairing", ["cross_encoder", "bi_encoder"])
@pytest.mark.parametrize("task", ["same", "alike"])
def test_the_worst_move_stays_in_the_ball_and_is_worse_than_any_chance_one(
    task: str, pairing: str, tokenizer: Tokenizer
) -> None:
    model, batch = plain(task, tokenizer, pairing=pairing, adapters=ADAPTERS)
    smart: Smart = make({"name": "smart", "epsilon": 0.01, "noise": 0.01, "step": 0.1}, model, task)
    clean_BO = model(batch).detach()
    worst_TD = smart.worst(batch, clean_BO, None)
    assert worst_TD.shape == (batch.tokens, 32) and worst_TD.abs().max() <= 0.01
    assert all(parameter.grad is None for parameter in model.parameters())
    generator = torch.Generator().manual_seed(1)
    chances = [0.01 * torch.randn(worst_TD.shape, generator=generator).sign() for _ in range(10)]
    with torch.no_grad():
        gaps = [smart.divergence(smart.output(batch, by_TD, None), clean_BO).item() for by_TD in [worst_TD, *chances]]
    assert gaps[0] > 2 * max(gaps[1:]) > 0


@pytest.mark.parametrize("pairing", ["cross_encoder", "bi_encoder"])
def test_every_example_of_a_batch_is_moved_as_far(pairing: str, tokenizer: Tokenizer) -> None:
    """An example's slope is made 1 at its largest, wherever in its one or two texts that is."""
    model, batch = plain("same", tokenizer, pairing=pairing)
    smart: Smart = make({"name": "smart", "epsilon": 9.0, "noise": 1e-3, "step": 1.0}, model, "same")
    sequences = smart.worst(batch, model(batch).detach(), None).abs().amax(1).split(batch.packed.lengths_S.tolist())
    farthest_S = torch.stack([each.max() for each in sequences])
    torch.testing.assert_close(farthest_S.view(-1, 3).amax(0), torch.ones(3), atol=0.01, rtol=0)


def test_smart_is_the_weighted_divergence_at_the_worst_move_and_grows_with_the_ascent(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    output_BO = model(batch)
    settings = {"name": "smart", "epsilon": 0.01, "noise": 0.01, "step": 0.002}
    found = [
        make({**settings, "steps": steps, "weight": weight}, model, "same").penalty(batch, output_BO, torch.zeros(()))
        for steps, weight in ((0, 1.0), (1, 1.0), (3, 1.0), (3, 5.0))
    ]
    assert 0 < found[0] < found[1] < found[2]
    assert found[3].item() == pytest.approx(5 * found[2].item(), rel=1e-4)


def test_a_moved_embedding_is_what_the_layers_read(tokenizer: Tokenizer) -> None:
    """Moving all of them alike is the same as adding to the bias of the norm that makes them."""
    model, batch = plain("same", tokenizer, adapters=ADAPTERS)
    smart: Smart = make("smart", model, "same")
    by_D = torch.linspace(-0.5, 0.5, 32)
    with torch.no_grad():
        moved_BO = smart.output(batch, by_D.expand(batch.tokens, 32), None)
        model.bert.embeddings.norm.bias.add_(by_D)
        torch.testing.assert_close(moved_BO, model(batch))


def test_where_answers_cannot_change_there_is_no_penalty(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    answer_always(model, "same", 1.0, 0.0)
    penalty = make("smart", model, "same").penalty(batch, model(batch), torch.zeros(()))
    assert penalty.item() == 0
    penalty.backward()
    assert all(each.grad is None or each.grad.isfinite().all() for each in model.parameters())


def test_under_the_same_masks_only_the_move_counts(tokenizer: Tokenizer) -> None:
    model = model_of("same", PLAIN)
    batch = batch_of(model, "same", tokenizer)
    found = {}
    for masks in ("new", "same"):
        smart = make({"name": "smart", "masks": masks}, model, "same")
        found[masks] = smart.penalty(batch, model(batch), torch.zeros(())).item()
    # moves of 1e-5 change answers by about as much, and the divergence is a square
    assert 0 < found["same"] < 1e-7 and found["new"] > 1e-4


def test_bregman_compares_with_the_running_mean_of_the_weights(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    answer_always(model, "same", 0.0, 0.0)
    smart = make({"name": "smart", "weight": 0.0, "bregman": 2.0, "momentum": 0.5}, model, "same")

    def penalty() -> float:
        return smart.penalty(batch, model(batch), torch.zeros(())).item()  # type: ignore[no-any-return]

    assert penalty() == 0
    answer_always(model, "same", math.log(3), 0.0)
    assert penalty() == pytest.approx(2 * APART, abs=1e-6)
    # half way, the log-odds are ln 3 / 2 and the odds the root of 3
    smart.after_step()
    expected = (3 / 4 - math.sqrt(3) / (1 + math.sqrt(3))) * math.log(3) / 2
    assert penalty() == pytest.approx(2 * expected, abs=1e-6)


def test_the_mean_of_the_weights_learns_nothing_and_leaves_other_tasks_out(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    smart = make({"name": "smart", "weight": 0.0, "bregman": 1.0}, model, "same")
    shake(model)
    smart.penalty(batch, model(batch), torch.zeros(())).backward()
    assert model.bert.layers[0].inner.weight.grad is not None
    assert not any(past.requires_grad for past in smart.past.values())
    assert {name for name in smart.past if name.startswith("parts.")} == {
        name for name, _ in model.named_parameters() if name.startswith("parts.task_same.")
    }


# ---- towards_start --------------------------------------------------------------------------------------


def test_weights_are_pulled_to_their_start(tokenizer: Tokenizer) -> None:
    """theta = 3, theta_0 = 1, weight .5: each adds .25 * 4, and a step of .1 down its slope leads to 2.9."""
    model, batch = plain("same", tokenizer)
    fill(model.bert, 1.0)
    regularizer = make({"name": "towards_start", "weight": 0.5}, model, "same")
    nothing = torch.zeros(())
    assert regularizer.penalty(batch, nothing, nothing).item() == 0
    fill(model.bert, 3.0)
    penalty = regularizer.penalty(batch, nothing, nothing)
    assert penalty.item() == pytest.approx(model.counts()["encoder"], rel=1e-5)
    penalty.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert all(torch.allclose(each, torch.tensor(2.9)) for each in model.bert.parameters())
    assert all(each.grad is None for each in model.parts.parameters())


def test_its_slope_is_the_way_from_the_start(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    start = {name: each.detach().clone() for name, each in model.bert.named_parameters()}
    regularizer = make({"name": "towards_start", "weight": 0.3}, model, "same")
    shake(model)
    regularizer.penalty(batch, torch.zeros(()), torch.zeros(())).backward()
    for name, each in model.bert.named_parameters():
        torch.testing.assert_close(each.grad, 0.3 * (each.detach() - start[name]))


def test_only_what_is_free_is_pulled(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    regularizer = make("towards_start", model, "same")
    nothing = torch.zeros(())
    shake(model)
    model.set_trainable("top 1")
    regularizer.penalty(batch, nothing, nothing).backward()
    pulled = {name for name, each in model.bert.named_parameters() if each.grad is not None}
    assert pulled == {name for name, _ in model.bert.named_parameters() if name.startswith(("layers.1.", "pooler."))}
    model.set_trainable("heads")
    assert regularizer.penalty(batch, nothing, nothing) is None


# ---- mixout ---------------------------------------------------------------------------------------------


def test_mixout_takes_weights_back_to_their_start_and_stretches_the_others() -> None:
    """rate .5, theta_0 = 1, theta = 3: taken back it is 1, kept 5, in the mean 3."""
    model = model_of("same", PLAIN)
    fill(model.bert, 1.0)
    mixout: Mixout = make({"name": "mixout", "rate": 0.5}, model, "same")
    fill(model.bert, 3.0)
    mixed = mixout.weights()
    layers = [f"bert.layers.{n}.{part}.weight" for n in (0, 1) for part in ("attention.qkv", "attention.output")]
    layers += [f"bert.layers.{n}.{part}.weight" for n in (0, 1) for part in ("inner", "outer")]
    assert set(mixed) == {*layers, "bert.pooler.weight"}
    every = torch.cat([weight.flatten() for weight in mixed.values()])
    assert set(every.tolist()) == {1.0, 5.0}
    # 17,408 weights: their mean is 3 to .015, one standard deviation
    assert every.mean().item() == pytest.approx(3, abs=0.06)
    every.sum().backward()
    own = model.get_parameter(layers[0])
    assert torch.equal(own.grad, torch.where(mixed[layers[0]] == 5, 2.0, 0.0))
    assert not torch.equal(mixout.weights()[layers[0]], mixed[layers[0]])


def test_mixout_meets_its_rate() -> None:
    model = model_of("same", PLAIN)
    mixout = make({"name": "mixout", "rate": 0.1}, model, "same")
    shake(model)
    back = torch.cat([(mixed == mixout.start[name]).flatten() for name, mixed in mixout.weights().items()])
    assert back.float().mean().item() == pytest.approx(0.1, abs=0.01)


def test_mixout_changes_answers_only_where_weights_moved(tokenizer: Tokenizer) -> None:
    model, batch = plain("same", tokenizer)
    mixout = make("mixout", model, "same")
    with torch.no_grad():
        assert torch.equal(functional_call(model, mixout.weights(), (batch,)), model(batch))
        shake(model)
        assert not torch.equal(functional_call(model, mixout.weights(), (batch,)), model(batch))


def test_mixout_leaves_alone_what_is_frozen() -> None:
    model = model_of("same", PLAIN)
    mixout = make("mixout", model, "same")
    model.set_trainable("top 1")
    assert set(mixout.weights()) == {
        name for name in mixout.start if name.startswith(("bert.layers.1.", "bert.pooler."))
    }
    model.set_trainable("heads and adapters")
    assert not mixout.weights()


def test_mixout_of_each_task_and_dropout_have_masks_of_their_own() -> None:
    """The recipe gives them all one seed."""
    model = model_of("same", PLAIN)
    drawn = [
        each.keep(torch.empty(64), 0.5)
        for each in (make("mixout", model, "same").generator, model.bert.dropout_generator)
    ]
    drawn.append(make("mixout", model, "mood_").generator.keep(torch.empty(64), 0.5))
    assert not any(torch.equal(drawn[i], drawn[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
