"""How much of the machine's speed the encoder uses: its matrix work against bare matrix products.

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

# tokens in one inference batch
INFERENCE_TOKENS = 4096
BATCHES = 4
# per product; short, because they are measured again in every round
SECONDS = 0.05


def use(context: Context) -> Iterator[tuple[str, Result]]:
    yield "matrix-train", in_training(context)
    yield "matrix-answer", in_inference(context)


def forward_products(tokens: int, width: int, inner: int) -> list[Product]:
    """The products of one layer: query, key and value together, attention output, intermediate, output."""
    T, D, F = tokens, width, inner
    return [(T, D, 3 * D), (T, D, D), (T, D, F), (T, F, D)]


def backward_products(forward: list[Product]) -> list[Product]:
    """For each product, the gradients of its input and of its weights."""
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
        round_of_steps, products, context.sizes.embed_rounds, f"{tokens} tokens per step, mean of three tasks"
    )


def in_inference(context: Context) -> Result:
    predictor = ours.predictor(context.run)
    texts = data.sentences(list(context.tasks.values()), context.sizes.sentences)
    lengths = ours.token_counts(predictor, texts)
    config = ours.encoder_config(context.folder)
    tokens, token_pairs = sum(lengths), sum(length**2 for length in lengths)
    D, F = config.hidden_size, config.intermediate_size
    work = config.num_hidden_layers * (2 * tokens * (4 * D * D + 2 * D * F) + 4 * token_pairs * D)
    predictor.embed(texts[:64])

    def embed_all() -> float:
        began = time.perf_counter()
        predictor.embed(texts, normalize=True)
        return work / (time.perf_counter() - began) / 1e9

    products = forward_products(INFERENCE_TOKENS, D, F)
    note = f"{len(texts):,} sentences embedded, including tokenization"
    return against_products(embed_all, products, context.sizes.embed_rounds, note)


def against_products(ours_once: Callable[[], float], products: list[Product], rounds: int, note: str) -> Result:
    winners: list[str] = []

    def bare() -> float:
        rate, winner = best_rate(products, usable(), SECONDS)
        winners.append(winner)
        return rate

    found = interleave({"ours": ours_once, "peer": bare}, rounds)
    fractions = [mine / best for mine, best in zip(found["ours"], found["peer"], strict=True)]
    name = f"bare products of these shapes, {max(set(winners), key=winners.count)}"
    return Result(median(found["ours"]), median(found["peer"]), median(fractions), quartiles(fractions), note, name)


PEER = "the machine's best rate"
USE = Measurement(
    "matrix",
    (
        Outline("matrix-train", "the encoder's matrix work in training", "GFLOP/s", 0.3, PEER, "torch"),
        Outline("matrix-answer", "the encoder's matrix work in inference", "GFLOP/s", 0.5, PEER, "torch"),
    ),
    use,
)
