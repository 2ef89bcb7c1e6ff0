"""One encoder, each task's own parts: (a Batch) -> loss or answers."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from minbert.config.recipe import Precision, TaskPlan
from minbert.config.schema import build_technique, expand_spec, split_spec
from minbert.config.task import Task
from minbert.data.batch import Batch, Layout
from minbert.data.packed import Packed
from minbert.encoder.bert import NO_PORTS, Bert, Ports, Reads
from minbert.encoder.device import matrix_work, to_device
from minbert.errors import UserError
from minbert.model.adapters import ADAPTERS
from minbert.model.adapters.stack import Stack
from minbert.model.heads import HEADS, Head
from minbert.model.heads.base import MEANINGS, HeadContext
from minbert.model.losses import DEFAULTS, LOSSES, Loss
from minbert.model.pairings import PAIRINGS, Pairing
from minbert.model.pairings.shared import SharedPairing
from minbert.model.poolings import POOLINGS, Pooling
from minbert.model.shared_layers import Shared, SharedLayer


class TaskModule(nn.Module):
    """What one task has of its own: adapters in the encoder, and all between its token vectors and the loss."""

    def __init__(self, bert: Bert, task: Task, plan: TaskPlan, where: str, shared: Shared | None = None) -> None:
        super().__init__()
        shared = Shared() if shared is None else shared
        where = f"{where}: task '{task.name}'"
        self.task = task
        self.plan = plan
        self.adapters = nn.ModuleList(build_technique("adapter", ADAPTERS, spec, where, bert) for spec in plan.adapters)
        self.ports: Ports = Stack(self.adapters) if plan.adapters else NO_PORTS  # type: ignore[arg-type]
        self.pairing = self.pairing_of(bert, where, shared)
        self.pooling: Pooling = build_technique("pooling", POOLINGS, plan.pooling, where, bert)
        # inside a tuple, so that it is not taken for this task's own
        self.between: tuple[SharedLayer, ...] = ()
        if plan.shared_layer:
            kind = "a layer before the head"
            self.between = (shared.same(plan.shared_layer, task.name, kind, lambda: SharedLayer(bert), where),)
        loss = plan.loss or DEFAULTS[task.kind]
        self.loss: Loss = build_technique("loss", LOSSES, loss, where, task)
        self.symmetric = plan.symmetric
        two = self.layout == "simcse" or (task.paired and self.layout == "bi_encoder")
        self.vectors = 2 if two and not self.pooling.tokens else 1
        to_device = HeadContext(task, bert, self.vectors, self.loss.outputs)
        self.head: Head = build_technique("head", HEADS, plan.head, where, to_device)
        self.max_length = min(plan.max_length or task.max_length, bert.config.max_position_embeddings)
        self.check(plan, where, split_spec(loss, where)[0], bert.config.type_vocab_size)

    def pairing_of(self, bert: Bert, where: str, shared: Shared) -> Pairing:
        """The pairing of the plan: the task's own, or one that it shares."""
        own: Pairing = build_technique("pairing", PAIRINGS, self.plan.pairing, where, bert, self.task)
        if own.shared is None:
            return own
        kind = expand_spec("pairing", PAIRINGS, self.plan.pairing, where)
        return SharedPairing(shared.same(own.shared, self.task.name, kind, lambda: own, where))

    def check(self, plan: TaskPlan, where: str, loss: str, segments: int) -> None:
        """Refuse by name what makes no sense together."""
        if self.head.emits not in self.loss.reads:
            raise UserError(
                f"{where}: the head '{split_spec(plan.head, where)[0]}' gives {MEANINGS[self.head.emits]}, "
                f"which the loss '{loss}' cannot read."
            )
        if self.pooling.tokens != (self.head.emits == "tokens"):
            raise UserError(f"{where}: the pooling 'masked_tokens' and the head 'mlm' go only together.")
        if self.layout == "simcse" and self.loss.predicts:
            raise UserError(f"{where}: the pairing 'simcse' only trains the encoder: take the loss 'contrastive'.")
        if self.loss.across_examples and plan.batch_size < 2:
            raise UserError(
                f"{where}: the loss '{loss}' compares the examples of a batch with each other.",
                "Set batch_size to 2 or more.",
            )
        if plan.symmetric and not self.task.paired:
            raise UserError(f"{where}: only pairs can be symmetric, and this task reads single texts.")
        if self.task.paired and self.layout != "bi_encoder" and segments < 2:
            raise UserError(
                f"{where}: this backbone knows only one segment, so it cannot read joined pairs.",
                'Set pairing = "bi_encoder", or take another backbone.',
            )

    @property
    def layout(self) -> Layout:
        return "both_orders" if self.symmetric and self.pairing.layout == "cross_encoder" else self.pairing.layout

    @property
    def borrowed(self) -> tuple[nn.Module, ...]:
        """The layers that it shares with other tasks."""
        return *self.between, *(self.pairing.lent if isinstance(self.pairing, SharedPairing) else ())

    @property
    def wants_tags(self) -> bool:
        """Whether its tokens come with their parts of speech."""
        return any(adapter.wants_tags for adapter in self.adapters)

    @property
    def reads(self) -> Reads:
        """Which of the encoder's token vectors are looked at."""
        return "first" if self.pairing.reads == self.pooling.reads == "first" else "all"

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The encoder's token vectors -> the head's output, B x O."""
        vectors_SD = self.pooling(self.pairing(x_TD, packed).float(), packed)
        for layer in self.between:
            vectors_SD = layer(vectors_SD)
        in_both_orders = self.layout == "both_orders" and not self.pooling.tokens
        parts = vectors_SD.chunk(2 if self.vectors == 2 or in_both_orders else 1)
        if self.vectors == 1:
            outputs = [self.head(part_BD) for part_BD in parts]
        else:
            outputs = [self.head(*parts)] + ([self.head(*reversed(parts))] if self.symmetric else [])
        return torch.stack(outputs).mean(0) if len(outputs) > 1 else outputs[0]


class Model(nn.Module):
    def __init__(self, bert: Bert, tasks: Mapping[str, Task], plans: Mapping[str, TaskPlan], where: str) -> None:
        """`where` is the file that the plans were written in, for error messages."""
        super().__init__()
        self.bert = bert
        self.shared = Shared()

        def parts_of(name: str) -> TaskModule:
            return TaskModule(bert, tasks[name], plans[name], where, self.shared)

        # the prefix lets a task be called `type` or `keys`, which are names of ModuleDict's own
        self.parts = nn.ModuleDict({f"task_{name}": parts_of(name) for name in tasks})

    @property
    def tasks(self) -> dict[str, TaskModule]:
        return {name.removeprefix("task_"): self.task(name.removeprefix("task_")) for name in self.parts}

    def task(self, name: str) -> TaskModule:
        part = self.parts[f"task_{name}"]
        assert isinstance(part, TaskModule)
        return part

    def forward(self, batch: Batch, ports: Ports | None = None) -> Tensor:
        """The raw output of the batch's task, B x O; `ports` take the place of the task's own."""
        return self.outputs([batch.task], batch.packed, ports)[batch.task]

    def outputs(self, names: Sequence[str], packed: Packed, ports: Ports | None = None) -> dict[str, Tensor]:
        """The raw output of each task, B x O; if there are several, the encoder must do the same work for all."""
        parts = {name: self.task(name) for name in names}
        first = parts[names[0]]
        if all(part.reads == first.reads for part in parts.values()):
            vectors = {first.reads: first.pairing.encode(self.bert, packed, first.reads, ports or first.ports)}
        else:
            vectors = self.bert.read(packed, ["all", "first"])
        return {
            name: part(vectors[part.reads], packed.firsts if part.reads == "first" else packed)
            for name, part in parts.items()
        }

    def to_device(self, precision: Precision, *, inference: bool = False) -> None:
        """Onto the fastest device; the encoder computes in this precision, the tasks' own parts in fp32."""
        to_device(self.bert, precision, inference=inference)
        self.parts.to(self.device)
        self.shared.to(self.device)

    def work(self, batch: Batch) -> float:
        """Floating-point operations of the encoder's matrix products, forwards."""
        return matrix_work(self.bert.config, batch.packed, self.task(batch.task).reads)

    def loss(self, batch: Batch) -> Tensor:
        parts = self.task(batch.task)
        batch = parts.head.prepare(batch)
        assert batch.labels_B is not None
        return parts.loss(self(batch).float(), batch.labels_B)  # type: ignore[no-any-return]

    def predict(self, batch: Batch) -> Tensor:
        """classify: probabilities, B x C. score: scores, B."""
        return self.predict_tasks([batch.task], batch.packed)[batch.task]

    def predict_tasks(self, names: Sequence[str], packed: Packed) -> dict[str, Tensor]:
        """The predictions of tasks for which the encoder does the same work."""
        outputs = self.outputs(names, packed)
        return {name: self.task(name).loss.predict(output_BO.float()) for name, output_BO in outputs.items()}

    def set_trainable(self, which: str) -> None:
        """Let only these parameters learn.

        "all"; "heads and adapters": all but the encoder; "heads": the same without adapters; "top 2": heads, adapters
        and the two highest layers of the encoder.
        """
        self.requires_grad_(which == "all")
        self.parts.requires_grad_(True)
        self.shared.requires_grad_(True)
        if which == "heads":
            for part in self.tasks.values():
                part.adapters.requires_grad_(False)
        if which.startswith("top "):
            for layer in list(self.bert.layers)[-int(which.removeprefix("top ")) :]:
                layer.requires_grad_(True)
            self.bert.pooler.requires_grad_(True)

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
        """Parameters of the encoder, of each task's own parts, and of the layers that tasks share."""
        return {
            "encoder": count_of(self.bert.parameters()),
            **{name: count_of(part.parameters()) for name, part in self.tasks.items()},
            **{
                f"shared {name.removeprefix('shared_')}": count_of(part.parameters())
                for name, part in self.shared.items()
            },
        }


def count_of(parameters: Iterable[nn.Parameter]) -> int:
    return sum(parameter.numel() for parameter in parameters)
