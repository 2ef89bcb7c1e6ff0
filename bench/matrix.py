"""How much of the machine's multiplying is put to use: the encoder's matrix work against bare matrix products.

T tokens of a batch, D width, F inner width.
"""

import time
from collections.abc import Callable, Iterator
from statistics import median

from bench import data, ours
from bench.context import Context
from bench.machine import Product, best_rate, usable
from bench.measure import interleave, quartiles
from bench.row import Measurement, Outline, Result
from bench.sizes import BATCH

# tokens that are answered at once
ANSWER_TOKENS = 4096
BATCHES = 4
# bare products are measured in each round, so each only shortly
SECONDS = 0.05


def use(context: Context) -> Iterator[tuple[str, Result]]:
    yield "matrix-train", in_training(context)
    yield "matrix-answer", in_answering(context)


def forward_products(tokens: int, width: int, inner: int) -> list[Product]:
    """The products of one layer: query, key and value in one, output, inner, outer."""
    T, D, F = tokens, width, inner
    return [(T, D, 3 * D), (T, D, D), (T, D, F), (T, F, D)]


def backward_products(forward: list[Product]) -> list[Product]:
    """The gradient of the input and that of the weights, for each."""
    return [
        product for tokens, before, after in forward for product in ((tokens, after, before), (before, tokens, after))
    ]


def in_training(context: Context) -> Result:
    tasks = {name: task.sample(BATCHES * BATCH, 8) for name, task in context.tasks.items()}
    training = ours.Training(ours.write_recipe(context.work / "matrix", context.folder, tasks, endless=True))
    for _ in tasks:
        training.step()
    tokens = sum(training.tokens(name) for name in tasks) // (len(tasks) * BATCHES)
    config = ours.encoder_config(context.folder)
    forward = forward_products(tokens, config.hidden_size, config.intermediate_size)
    products = forward + backward_products(forward)

    def round_of_steps() -> float:
        began = time.perf_counter()
        work = sum(training.step().flops for _ in tasks)
        return work / (time.perf_counter() - began) / 1e9

    return against_products(
        round_of_steps, products, context.sizes.embed_rounds, f"{tokens} tokens a step, mean of three tasks"
    )


def in_answering(context: Context) -> Result:
    asked = ours.predictor(context.run)
    texts = data.sentences(list(context.tasks.values()), context.sizes.sentences)
    lengths = ours.token_counts(asked, texts)
    config = ours.encoder_config(context.folder)
    tokens, meetings = sum(lengths), sum(length**2 for length in lengths)
    D, F = config.hidden_size, config.intermediate_size
    work = config.num_hidden_layers * (2 * tokens * (4 * D * D + 2 * D * F) + 4 * meetings * D)
    asked.embed(texts[:64])

    def round_of_answers() -> float:
        began = time.perf_counter()
        asked.embed(texts, normalize=True)
        return work / (time.perf_counter() - began) / 1e9

    products = forward_products(ANSWER_TOKENS, D, F)
    note = f"{len(texts):,} sentences to vectors, tokenizing included"
    return against_products(round_of_answers, products, context.sizes.embed_rounds, note)


def against_products(ours_once: Callable[[], float], products: list[Product], rounds: int, note: str) -> Result:
    winners: list[str] = []

    def bare() -> float:
        rate, winner = best_rate(products, usable(), SECONDS)
        winners.append(winner)
        return rate

    found = interleave({"ours": ours_once, "peer": bare}, rounds)
    shares = [mine / best for mine, best in zip(found["ours"], found["peer"], strict=True)]
    name = f"bare products of these shapes, {max(set(winners), key=winners.count)}"
    return Result(median(found["ours"]), median(found["peer"]), median(shares), quartiles(shares), note, name)


PEER = "the machine's best rate"
USE = Measurement(
    "matrix",
    (
        Outline("matrix-train", "the encoder's matrix work in training", "GFLOP/s", 0.3, PEER, "torch"),
        Outline("matrix-answer", "the encoder's matrix work in answering", "GFLOP/s", 0.5, PEER, "torch"),
    ),
    use,
)
