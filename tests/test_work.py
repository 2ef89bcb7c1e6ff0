"""The work of a training step, counted instead of timed: what crept in would show here on any machine."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from minbert.config.task import read_task
from minbert.data.batch import collate, encode_texts
from minbert.data.packed import similar_lengths
from minbert.data.source import DataSource
from minbert.data.tokenizer import read_tokenizer
from minbert.encoder.hub import find_backbone
from minbert.training.prepare import Prepared, prepare
from tests.workbench import demo_recipe, run_all

LAYERS = 2  # of the tiny encoder


class Calls(TorchDispatchMode):
    """Counts the operations that touch numbers: views are free."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not func.is_view:
            self.counts[func._schema.name] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture
def ready(tiny: Path) -> Prepared:
    return prepare(demo_recipe(tiny, "tasks.similarity.head=linear", "tasks.similarity.pairing=cross_encoder"))


def learn_once(ready: Prepared, task: str) -> Callable[[], None]:
    part = ready.train[task]
    batch = collate(task, part.encoded, part.dataset.labels, np.arange(32))
    ready.model.train()
    return lambda: ready.model.loss(batch).backward()


def test_a_step_runs_the_kernels_it_needs_and_no_others(ready: Prepared) -> None:
    step = learn_once(ready, "sentiment")
    with Calls() as calls:
        step()
    found = calls.counts
    # a layer: query-key-value in one, output, inner, outer; and the head
    assert found["aten::addmm"] == 4 * LAYERS + 1
    # backwards each of these is two, for the input and for the weight
    assert found["aten::mm"] == 2 * (4 * LAYERS + 1)
    assert not [name for name in found if "bernoulli" in name], "dropout draws whole words of bits"
    # fp32 throughout: only heads and losses may ask for it, and get what they have
    assert found["aten::_to_copy"] <= 2
    blocks = len(list(similar_lengths(ready.train["sentiment"].encoded.tokens[:32])))
    # attention: two products a block forwards and four backwards
    assert found["aten::bmm"] + found["aten::baddbmm"] == 6 * LAYERS * blocks
    # 436 with five blocks, when this was written
    assert found.total() < 60 + 39 * LAYERS * blocks, found


@pytest.mark.parametrize("task", ["sentiment", "paraphrase"])
def test_a_step_multiplies_little_more_than_the_tokens_need(ready: Prepared, task: str) -> None:
    step = learn_once(ready, task)
    counter = FlopCounterMode(display=False)
    with counter:
        step()
    part = ready.train[task]
    needed = 3 * ready.model.forward_flops(collate(task, part.encoded, part.dataset.labels, np.arange(32)))
    assert counter.get_total_flops() < 1.1 * needed


def test_real_sentences_leave_few_holes() -> None:
    """32 at random, as training draws them: padding to the longest would double the slots."""
    text = read_tokenizer(find_backbone("minilm"))
    _, rows, _ = DataSource().read_splits(read_task("sentiment", "demo/sentiment"))
    lengths = encode_texts(text, rows.texts, "cross_encoder", 128).tokens
    drawn = np.random.default_rng(0).permutation(lengths)[: len(lengths) // 32 * 32].reshape(-1, 32)
    slots = sum(each[order].max() * len(order) for each in drawn for order in similar_lengths(each))
    padded = sum(each.max() * 32 for each in drawn)
    assert slots < 1.15 * drawn.sum() < padded


def test_no_work_is_left_behind_for_rows_nobody_trains(ready: Prepared) -> None:
    """A frozen encoder is run without a graph: no product of it is done backwards."""
    ready.model.set_trainable("heads")
    step = learn_once(ready, "sentiment")
    with Calls() as calls:
        step()
    assert calls.counts["aten::mm"] <= 2


def test_the_first_answer_waits_for_nothing_it_does_not_need(tiny: Path, tmp_path: Path) -> None:
    """torch's compiler takes two seconds to import; making modules without numbers must not ask for it."""
    run_all(demo_recipe(tiny), tmp_path / "run")
    asked = "import sys, minbert; minbert.load(sys.argv[1]).predict('sentiment', ['A text.'])"
    heavy = "print([name for name in ('torch._dynamo', 'matplotlib', 'transformers') if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", f"{asked}; {heavy}", tmp_path / "run"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
