"""One encoder, each task's own parts: (a Batch) -> loss or answers."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from minbert.batch import Batch, Layout
from minbert.bert import Bert, Reads
from minbert.errors import UserError
from minbert.heads import HEADS, Head
from minbert.heads.base import Place
from minbert.losses import DEFAULTS, LOSSES, Loss
from minbert.machine import matrix_work, place
from minbert.packed import Packed
from minbert.pairings import PAIRINGS, Pairing
from minbert.poolings import POOLINGS, Pooling
from minbert.recipe import Precision, TaskPlan
from minbert.task import Task
from minbert.variants import build, split_spec


class TaskParts(nn.Module):
    """What one task has of its own, between the encoder's token vectors and the loss."""

    def __init__(self, bert: Bert, task: Task, plan: TaskPlan, where: str) -> None:
        super().__init__()
        where, width = f"{where}: task '{task.name}'", bert.shape.width
        self.task = task
        self.pairing: Pairing = build("pairing", PAIRINGS, plan.pairing, where, width)
        self.pooling: Pooling = build("pooling", POOLINGS, plan.pooling, where, width)
        loss = plan.loss or DEFAULTS[task.kind]
        self.loss: Loss = build("loss", LOSSES, loss, where, task)
        self.vectors = 2 if task.paired and self.layout == "apart" else 1
        place = Place(task, width, self.vectors, self.loss.outputs, bert.noise)
        self.head: Head = build("head", HEADS, plan.head, where, place)
        if self.head.emits not in self.loss.reads:
            head_name, loss_name = split_spec(plan.head, where)[0], split_spec(loss, where)[0]
            raise UserError(
                f"{where}: the head '{head_name}' gives a finished score, which the loss '{loss_name}' cannot read."
            )
        if task.paired and self.layout == "joined" and bert.shape.segments < 2:
            raise UserError(
                f"{where}: this backbone knows only one segment, so it cannot read joined pairs.",
                'Set pairing = "apart", or take another backbone.',
            )
        self.max_length = min(plan.max_length or task.max_length, bert.shape.positions)

    @property
    def layout(self) -> Layout:
        return self.pairing.layout

    @property
    def reads(self) -> Reads:
        """Which of the encoder's token vectors are looked at."""
        return "first" if self.pairing.reads == self.pooling.reads == "first" else "all"

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The encoder's token vectors -> the head's output, B x O."""
        vectors_SD = self.pooling(self.pairing(x_TD, packed).float(), packed)
        return self.head(*vectors_SD.chunk(self.vectors))  # type: ignore[no-any-return]


class Model(nn.Module):
    def __init__(self, bert: Bert, tasks: Mapping[str, Task], plans: Mapping[str, TaskPlan], where: str) -> None:
        """`where` is the file that the plans were written in, for error messages."""
        super().__init__()
        self.bert = bert
        # the prefix lets a task be called `type` or `keys`, which are names of ModuleDict's own
        self.parts = nn.ModuleDict({f"task_{name}": TaskParts(bert, tasks[name], plans[name], where) for name in tasks})

    @property
    def tasks(self) -> dict[str, TaskParts]:
        return {name.removeprefix("task_"): self.task(name.removeprefix("task_")) for name in self.parts}

    def task(self, name: str) -> TaskParts:
        part = self.parts[f"task_{name}"]
        assert isinstance(part, TaskParts)
        return part

    def forward(self, batch: Batch) -> Tensor:
        """The raw output of the batch's task, B x O."""
        parts = self.task(batch.task)
        x_TD = self.bert(batch.packed, parts.reads)
        return parts(x_TD, batch.packed.firsts if parts.reads == "first" else batch.packed)  # type: ignore[no-any-return]

    def place(self, precision: Precision, *, answering: bool = False) -> None:
        """Onto the fastest device; the encoder computes in this precision, the tasks' own parts in fp32."""
        place(self.bert, precision, answering=answering)
        self.parts.to(self.device)

    def work(self, batch: Batch) -> float:
        """Floating-point operations of the encoder's matrix products, forwards."""
        return matrix_work(self.bert.shape, batch.packed, self.task(batch.task).reads)

    def loss(self, batch: Batch) -> Tensor:
        assert batch.labels_B is not None
        return self.task(batch.task).loss(self(batch).float(), batch.labels_B)  # type: ignore[no-any-return]

    def answers(self, batch: Batch) -> Tensor:
        """classify: probabilities, B x C. score: scores, B."""
        return self.task(batch.task).loss.answers(self(batch).float())

    def free(self, which: str) -> None:
        """Let only these parameters learn: "all", or "heads" (what the tasks have of their own)."""
        self.bert.requires_grad_(which == "all")
        self.parts.requires_grad_(True)

    def train(self, mode: bool = True) -> "Model":
        super().train(mode)
        # a frozen encoder is a fixed function: its dropout would only blur the features
        if not any(parameter.requires_grad for parameter in self.bert.parameters()):
            self.bert.eval()
        return self

    @property
    def device(self) -> torch.device:
        return self.bert.pooler.weight.device

    def counts(self) -> dict[str, int]:
        """Parameters of the encoder, and of each task's own parts."""
        return {
            "encoder": sum(p.numel() for p in self.bert.parameters()),
            **{name: sum(p.numel() for p in part.parameters()) for name, part in self.tasks.items()},
        }
