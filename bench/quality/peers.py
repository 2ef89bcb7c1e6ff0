"""A cut data set -> the predictions of each peer, used with its defaults and as its documentation says."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from bench.quality.cells import Answer
from bench.quality.sets import Cut, read_rows

# of the Trainer; the rate and the epochs are those of the BERT paper (Devlin et al. 2019, arXiv:1810.04805)
BATCH, EPOCHS, LEARNING_RATE = 16, 3, 5e-5
# steps that tell how long a step takes; the first ones are slower and not counted
TRIAL, WARM_UP = 15, 3
SETFIT_BATCH = 16


@dataclass(frozen=True)
class Job:
    """What a system needs to know."""

    cuts: tuple[Cut, ...]
    seed: int
    backbone: Path
    # for files of its own
    work: Path
    # CPU seconds for training steps, over all threads; None: no limit
    cpu_budget: float | None

    @property
    def cut(self) -> Cut:
        (only,) = self.cuts
        return only


@dataclass(frozen=True)
class Texts:
    columns: tuple[list[str], ...]
    labels: list[Any]


def texts_of(cut: Cut, path: str) -> Texts:
    rows = read_rows(cut.set, Path(path))
    labels = [row[cut.set.label] for row in rows]
    columns = tuple([row[column] for row in rows] for column in cut.set.text)
    return Texts(columns, [float(label) for label in labels] if cut.set.scored else labels)


def constant(job: Job) -> dict[str, Answer]:
    """The most frequent label of the training rows, or their mean score."""
    labels = texts_of(job.cut, job.cut.train).labels
    answer = mean(labels) if job.cut.set.scored else Counter(labels).most_common(1)[0][0]
    return {job.cut.name: Answer([answer] * len(job.cut.gold))}


# ---- frozen vectors -----------------------------------------------------------------------------------


def vectors(job: Job, texts: Texts) -> list[Any]:
    """One matrix per column of text, from sentence-transformers as published: mean pooling, unit length."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(job.backbone), device="cpu")
    return [model.encode(column, show_progress_bar=False) for column in texts.columns]


def features(job: Job, texts: Texts) -> Any:
    """u, or [u, v, |u - v|, u * v] for pairs."""
    import numpy as np

    u, *others = vectors(job, texts)
    if not others:
        return u
    (v,) = others
    return np.hstack([u, v, abs(u - v), u * v])


def probe(job: Job) -> dict[str, Answer]:
    """Logistic regression, or ridge regression for scores, on frozen vectors."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    train, dev = (texts_of(job.cut, path) for path in (job.cut.train, job.cut.dev))
    model = RidgeCV() if job.cut.set.scored else LogisticRegression(max_iter=5000)
    model.fit(features(job, train), train.labels)
    return {job.cut.name: Answer(model.predict(features(job, dev)).tolist())}


def cosine(job: Job) -> dict[str, Answer]:
    """The cosine of the two vectors, without any training."""
    u, v = vectors(job, texts_of(job.cut, job.cut.dev))
    return {job.cut.name: Answer((u * v).sum(1).tolist())}


# ---- training under a budget --------------------------------------------------------------------------


def step_clock() -> Any:
    """A callback that notes the CPU seconds at the end of each step."""
    from transformers import TrainerCallback

    class StepClock(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.ends: list[float] = []

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.ends.append(time.process_time())

        @property
        def cpu_seconds(self) -> float:
            return (self.ends[-1] - self.ends[WARM_UP - 1]) / (len(self.ends) - WARM_UP)

    return StepClock()


def affordable(budget: float | None, full: int, trial: Callable[[], float]) -> int:
    """The number of steps that fit into the budget, at most `full`; `trial` measures the CPU seconds of a step."""
    return full if budget is None else max(1, min(full, int(budget / trial())))


def trainer(job: Job) -> dict[str, Answer]:
    """Hugging Face Trainer: AutoModelForSequenceClassification, pairs as text pairs, regression for scores."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(job.backbone))
    train, dev = (inputs(tokenizer, job.cut, path) for path in (job.cut.train, job.cut.dev))
    running = hugging_face(job, tokenizer, train)
    running.train()
    outputs = running.predict(dev).predictions
    classes = job.cut.classes
    found = [classes[i] for i in outputs.argmax(1)] if classes else outputs[:, 0].tolist()
    return {job.cut.name: Answer(found, running.state.global_step)}


def inputs(tokenizer: Any, cut: Cut, path: str) -> list[dict[str, Any]]:
    texts = texts_of(cut, path)
    encoded = tokenizer(*texts.columns, truncation=True)
    # a label that the training rows lack cannot be learned; the loss of a dev row is not used
    labels = [cut.classes.index(label) if label in cut.classes else 0 for label in texts.labels]
    return [
        {"labels": label} | {name: column[i] for name, column in encoded.items()}
        for i, label in enumerate(labels if cut.classes else texts.labels)
    ]


def hugging_face(job: Job, tokenizer: Any, train: Any) -> Any:
    from transformers import (
        AutoModelForSequenceClassification,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(job.seed)  # the new head is random
    settings = TrainingArguments(
        output_dir=str(job.work / "trainer"),
        per_device_train_batch_size=BATCH,
        num_train_epochs=EPOCHS,
        learning_rate=LEARNING_RATE,
        seed=job.seed,
        use_cpu=True,
        dataloader_pin_memory=False,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    # one output means regression with the mean squared error
    model = AutoModelForSequenceClassification.from_pretrained(str(job.backbone), num_labels=len(job.cut.classes) or 1)
    return Trainer(
        model=model,
        args=settings,
        train_dataset=train,
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
    )


def setfit(job: Job) -> dict[str, Answer]:
    """SetFit (Tunstall et al. 2022, arXiv:2209.11055): contrastive pairs, then logistic regression; single texts."""
    train, dev = (texts_of(job.cut, path) for path in (job.cut.train, job.cut.dev))
    full = setfit_steps(Counter(train.labels))

    def trial() -> float:
        clock = step_clock()
        running = setfit_trainer(job, train, TRIAL, clock)
        running.train_embeddings(*running.dataset_to_parameters(running.train_dataset))
        return float(clock.cpu_seconds)

    steps = affordable(job.cpu_budget, full, trial)
    running = setfit_trainer(job, train, steps)
    running.train()
    found = running.model.predict(dev.columns[0], show_progress_bar=False)
    return {job.cut.name: Answer([str(label) for label in found], steps, full)}


def setfit_steps(counts: Counter[Any]) -> int:
    """One pass over all pairs, the rarer of equal and different pairs repeated: SetFit's default, "oversampling"."""
    rows = sum(counts.values())
    equal = sum(count * (count + 1) // 2 for count in counts.values())
    return ceil(2 * max(equal, rows * (rows + 1) // 2 - equal) / SETFIT_BATCH)


def setfit_trainer(job: Job, train: Texts, steps: int, clock: Any = None) -> Any:
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments
    from transformers import set_seed

    set_seed(job.seed)
    settings = TrainingArguments(
        output_dir=str(job.work / "setfit"),
        max_steps=steps,
        seed=job.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        show_progress_bar=False,
    )
    return Trainer(
        model=SetFitModel.from_pretrained(str(job.backbone)),
        args=settings,
        train_dataset=Dataset.from_dict({"text": train.columns[0], "label": train.labels}),
        callbacks=[clock] if clock else [],
    )
