"""The peers as their documentation says they are used: transformers, its Trainer, sentence-transformers."""

import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.data import Rows, TaskRows, read_back
from bench.row import CannotMeasure
from bench.sizes import BATCH

# what a transformers model folder has; a folder with modules.json as well would be read in another way
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
MAX_LENGTH = 128
LEARNING_RATE = 5e-5


def need(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            raise CannotMeasure(f"the package {package} is not installed")


def quiet() -> None:
    """No downloads, no progress bars, no advice between the measurements."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    logging.getLogger().setLevel(logging.ERROR)
    if find_spec("transformers") is not None:
        from transformers.utils import logging as transformers_logging

        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()


def model_folder(source: Path, target: Path) -> Path:
    """The weights alone in a folder that every library here loads in the same way."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in MODEL_FILES:
        if (source / name).is_file():
            (target / name).symlink_to((source / name).resolve())
    return target


def features(tokenizer: Any, rows: Rows) -> list[dict[str, Any]]:
    """Rows as transformers' models learn them: token ids without padding, and the label."""
    encoded = tokenizer(*rows.texts, truncation=True, max_length=MAX_LENGTH)
    return [
        {"labels": label} | {name: column[i] for name, column in encoded.items()}
        for i, label in enumerate(rows.labels.tolist())
    ]


def classifier(folder: Path, task: TaskRows) -> Any:
    from transformers import AutoModelForSequenceClassification

    # one label is a score, learned with the mean squared error
    return AutoModelForSequenceClassification.from_pretrained(str(folder), num_labels=len(task.labels) or 1)


# ---- learning -----------------------------------------------------------------------------------------


class Training:
    """A plain transformers loop: one model a task, tokenized once, each batch padded to its longest row."""

    def __init__(self, folder: Path, tasks: Mapping[str, TaskRows]) -> None:
        need("transformers")
        from transformers import AutoTokenizer, DataCollatorWithPadding

        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.collate = DataCollatorWithPadding(tokenizer)
        self.rows = {name: features(tokenizer, task.train) for name, task in tasks.items()}
        self.models = {name: classifier(folder, task).train() for name, task in tasks.items()}
        # fused, as the Trainer's default is
        self.optimizers = {
            name: torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, fused=True)
            for name, model in self.models.items()
        }

    def lengths(self, task: str) -> list[int]:
        return [len(row["input_ids"]) for row in self.rows[task]]

    def grouped(self, task: str) -> list[list[int]]:
        """Batches of similar length as the Trainer makes them with train_sampling_strategy="group_by_length"."""
        from transformers.trainer_pt_utils import get_length_grouped_indices

        lengths = self.lengths(task)
        # the Trainer sorts 50 batches at once where it has four times as many
        order = get_length_grouped_indices(lengths, BATCH, 50, torch.Generator().manual_seed(0))
        return [order[i : i + BATCH] for i in range(0, len(order), BATCH)]

    def step(self, task: str, rows: Sequence[int], half: bool = False) -> int:
        """One update of the weights; returns how many tokens were learned, padding not counted."""
        model, optimizer = self.models[task], self.optimizers[task]
        batch = self.collate([self.rows[task][i] for i in rows])
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return int(batch["attention_mask"].sum())


@torch.inference_mode()
def answers(model: Any, folder: Path, task: TaskRows) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    """A trained classifier on the dev rows: probabilities of the labels, or scores."""
    from transformers import AutoTokenizer, DataCollatorWithPadding

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    rows, collate = features(tokenizer, task.dev), DataCollatorWithPadding(tokenizer)
    model.eval()
    found = [model(**collate(rows[i : i + BATCH])).logits for i in range(0, len(rows), BATCH)]
    output = torch.cat(found)
    return (output.softmax(1) if task.labels else output[:, 0]).numpy()


def trainer_run(folder: Path, data: Path, name: str, out: Path) -> None:
    """One epoch of one task by the Trainer: read, tokenize, train, measure, keep the best, write its answers.

    All that `minbert train` does as well; everything not named here is the Trainer's default.
    """
    from transformers import AutoTokenizer, DataCollatorWithPadding, PrinterCallback, Trainer, TrainingArguments

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    task = read_back(data, name)
    train, dev = (features(tokenizer, rows) for rows in (task.train, task.dev))
    settings = TrainingArguments(
        output_dir=str(out),
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        num_train_epochs=1,
        learning_rate=LEARNING_RATE,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        use_cpu=True,
        dataloader_pin_memory=False,
        disable_tqdm=True,
        report_to="none",
        logging_strategy="no",
    )
    trainer = Trainer(
        model=classifier(folder, task),
        args=settings,
        train_dataset=train,
        eval_dataset=dev,
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)  # progress lines are not wanted here
    trainer.train()
    np.save(out / "answers.npy", trainer.predict(dev).predictions)


# ---- answering ----------------------------------------------------------------------------------------


def embed_file(model: Any, source: Path, target: Path) -> None:
    """A text file, one sentence a line -> a NumPy file, by a loaded SentenceTransformer."""
    texts = source.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    np.save(target, model.encode(texts))


def cross_encoder(folder: Path) -> Any:
    need("sentence_transformers")
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), num_labels=1, max_length=MAX_LENGTH, device="cpu")
