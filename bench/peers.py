"""The peers, used as documented: transformers, its Trainer, sentence-transformers."""

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

# the files of a transformers model folder; with modules.json the folder would be loaded differently
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
MAX_LENGTH = 128
LEARNING_RATE = 5e-5


def need(*packages: str) -> None:
    for package in packages:
        if find_spec(package) is None:
            raise CannotMeasure(f"the package {package} is not installed")


def quiet() -> None:
    """No downloads, progress bars or warnings during the measurements."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    logging.getLogger().setLevel(logging.ERROR)
    if find_spec("transformers") is not None:
        from transformers.utils import logging as transformers_logging

        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()


def model_folder(source: Path, target: Path) -> Path:
    """A folder with only the weights, which every library here loads in the same way."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in MODEL_FILES:
        if (source / name).is_file():
            (target / name).symlink_to((source / name).resolve())
    return target


def features(tokenizer: Any, rows: Rows) -> list[dict[str, Any]]:
    """Rows as inputs for transformers models: token ids without padding, and the label."""
    encoded = tokenizer(*rows.texts, truncation=True, max_length=MAX_LENGTH)
    return [
        {"labels": label} | {name: column[i] for name, column in encoded.items()}
        for i, label in enumerate(rows.labels.tolist())
    ]


def classifier(folder: Path, task: TaskRows) -> Any:
    from transformers import AutoModelForSequenceClassification

    # num_labels=1 means regression with mean squared error
    return AutoModelForSequenceClassification.from_pretrained(str(folder), num_labels=len(task.labels) or 1)


# ---- training -----------------------------------------------------------------------------------------


class Training:
    """A plain transformers loop: one model per task, tokenized once, batches padded to the longest row."""

    def __init__(self, folder: Path, tasks: Mapping[str, TaskRows]) -> None:
        need("transformers")
        from transformers import AutoTokenizer, DataCollatorWithPadding

        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.collate = DataCollatorWithPadding(tokenizer)
        self.rows = {name: features(tokenizer, task.train) for name, task in tasks.items()}
        self.models = {name: classifier(folder, task).train() for name, task in tasks.items()}
        # fused, like the default of the Trainer
        self.optimizers = {
            name: torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, fused=True)
            for name, model in self.models.items()
        }

    def lengths(self, task: str) -> list[int]:
        return [len(row["input_ids"]) for row in self.rows[task]]

    def grouped(self, task: str) -> list[list[int]]:
        """Batches of similar length, as in the Trainer with train_sampling_strategy="group_by_length"."""
        from transformers.trainer_pt_utils import get_length_grouped_indices

        lengths = self.lengths(task)
        # the Trainer sorts 50 batches at a time if it has at least four times as many
        order = get_length_grouped_indices(lengths, BATCH, 50, torch.Generator().manual_seed(0))
        return [order[i : i + BATCH] for i in range(0, len(order), BATCH)]

    def step(self, task: str, rows: Sequence[int], half: bool = False) -> int:
        """One update of the weights; returns the number of tokens without padding."""
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
def predictions(model: Any, folder: Path, task: TaskRows) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    """The label probabilities, or scores, of a trained model on the dev rows."""
    from transformers import AutoTokenizer, DataCollatorWithPadding

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    rows, collate = features(tokenizer, task.dev), DataCollatorWithPadding(tokenizer)
    model.eval()
    found = [model(**collate(rows[i : i + BATCH])).logits for i in range(0, len(rows), BATCH)]
    output = torch.cat(found)
    return (output.softmax(1) if task.labels else output[:, 0]).numpy()


def trainer_run(folder: Path, data: Path, name: str, out: Path) -> None:
    """One epoch of one task with the Trainer: read, tokenize, train, evaluate, keep the best, write predictions.

    `minbert train` does the same. All other settings are the defaults of the Trainer.
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
    trainer.remove_callback(PrinterCallback)  # no progress output
    trainer.train()
    np.save(out / "predictions.npy", trainer.predict(dev).predictions)


# ---- inference ----------------------------------------------------------------------------------------


def embed_file(model: Any, source: Path, target: Path) -> None:
    """A text file with one sentence per line -> a NumPy file, with a loaded SentenceTransformer."""
    texts = source.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    np.save(target, model.encode(texts))


def cross_encoder(folder: Path) -> Any:
    need("sentence_transformers")
    from sentence_transformers import CrossEncoder

    return CrossEncoder(str(folder), num_labels=1, max_length=MAX_LENGTH, device="cpu")
