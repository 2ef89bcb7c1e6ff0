"""Batch -> loss or predictions: one shared encoder, and for each task a module of its own."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from minbert.config.recipe import Precision, TaskPlan
from minbert.config.schema import build_technique, expand_spec, split_spec
from minbert.config.task import Task
from minbert.data.batch import Batch, Layout
from minbert.data.packed import Packed
from minbert.encoder.bert import NO_HOOKS, Bert, EncoderHooks, Reads
from minbert.encoder.device import forward_flops, to_device
from minbert.errors import UserError
from minbert.model.adapters import ADAPTERS
from minbert.model.adapters.stack import HookStack
from minbert.model.heads import HEADS, Head
from minbert.model.heads.base import OUTPUT_DESCRIPTIONS, HeadContext
from minbert.model.losses import DEFAULT_LOSSES, LOSSES, Loss
from minbert.model.pairings import PAIRINGS, Pairing
from minbert.model.pairings.shared import SharedPairing
from minbert.model.poolings import POOLINGS, Pooling
from minbert.model.shared_layers import SharedLayer, SharedLayers


class TaskModule(nn.Module):
    """The modules of one task: adapters inside the encoder, and everything from its token vectors to the loss."""

    def __init__(self, bert: Bert, task: Task, plan: TaskPlan, where: str, shared: SharedLayers | None = None) -> None:
        super().__init__()
        shared = SharedLayers() if shared is None else shared
        where = f"{where}: task '{task.name}'"
        self.task = task
        self.plan = plan
        self.adapters = nn.ModuleList(build_technique("adapter", ADAPTERS, spec, where, bert) for spec in plan.adapters)
        self.hooks: EncoderHooks = HookStack(self.adapters) if plan.adapters else NO_HOOKS  # type: ignore[arg-type]
        self.pairing = self.build_pairing(bert, where, shared)
        self.pooling: Pooling = build_technique("pooling", POOLINGS, plan.pooling, where, bert)
        # inside a tuple, so that its parameters are not registered as this task's own
        self.before_head: tuple[SharedLayer, ...] = ()
        if plan.shared_layer:
            kind = "a layer before the head"
            layer = shared.get_or_create(plan.shared_layer, task.name, kind, lambda: SharedLayer(bert), where)
            self.before_head = (layer,)
        loss = plan.loss or DEFAULT_LOSSES[task.kind]
        self.loss: Loss = build_technique("loss", LOSSES, loss, where, task)
        self.symmetric = plan.symmetric
        two = self.layout == "simcse" or (task.paired and self.layout == "bi_encoder")
        self.num_vectors = 2 if two and not self.pooling.per_token else 1
        context = HeadContext(task, bert, self.num_vectors, self.loss.num_outputs)
        self.head: Head = build_technique("head", HEADS, plan.head, where, context)
        self.max_length = min(plan.max_length or task.max_length, bert.config.max_position_embeddings)
        self.check(plan, where, split_spec(loss, where)[0], bert.config.type_vocab_size)

    def build_pairing(self, bert: Bert, where: str, shared: SharedLayers) -> Pairing:
        """The pairing of the plan: the task's own, or one that it shares with other tasks."""
        own: Pairing = build_technique("pairing", PAIRINGS, self.plan.pairing, where, bert, self.task)
        if own.shared is None:
            return own
        kind = expand_spec("pairing", PAIRINGS, self.plan.pairing, where)
        return SharedPairing(shared.get_or_create(own.shared, self.task.name, kind, lambda: own, where))

    def check(self, plan: TaskPlan, where: str, loss: str, segments: int) -> None:
        """Reject combinations of techniques that do not fit together."""
        if self.head.output_kind not in self.loss.accepts:
            accepted = " or ".join(OUTPUT_DESCRIPTIONS[kind] for kind in self.loss.accepts)
            raise UserError(
                f"{where}: the head '{split_spec(plan.head, where)[0]}' outputs "
                f"{OUTPUT_DESCRIPTIONS[self.head.output_kind]}, which the loss '{loss}' does not accept.",
                f"Use another loss, or a head that outputs {accepted}.",
            )
        if self.pooling.per_token != (self.head.output_kind == "token_logits"):
            raise UserError(
                f"{where}: the pooling 'masked_tokens' and the head 'mlm' only work together.", "Set both, or neither."
            )
        if self.layout == "simcse" and self.loss.predicts:
            raise UserError(f"{where}: the pairing 'simcse' only trains the encoder: use the loss 'contrastive'.")
        if self.loss.across_examples and plan.batch_size < 2:
            raise UserError(
                f"{where}: the loss '{loss}' compares the examples of a batch with each other.",
                "Set batch_size to 2 or more.",
            )
        if plan.symmetric and not self.task.paired:
            raise UserError(f"{where}: only tasks with text pairs can be symmetric, and this task has single texts.")
        if self.task.paired and self.layout != "bi_encoder" and segments < 2:
            raise UserError(
                f"{where}: this backbone has only one segment embedding, so it cannot read pairs as one sequence.",
                'Set pairing = "bi_encoder", or use another backbone.',
            )

    @property
    def layout(self) -> Layout:
        return "both_orders" if self.symmetric and self.pairing.layout == "cross_encoder" else self.pairing.layout

    @property
    def shared_modules(self) -> tuple[nn.Module, ...]:
        """The modules that it shares with other tasks."""
        return *self.before_head, *(self.pairing.wrapped if isinstance(self.pairing, SharedPairing) else ())

    @property
    def wants_tags(self) -> bool:
        """Whether it needs the part-of-speech tags of its tokens."""
        return any(adapter.wants_tags for adapter in self.adapters)

    @property
    def reads(self) -> Reads:
        """Which of the encoder's token vectors it needs."""
        return "first" if self.pairing.reads == self.pooling.reads == "first" else "all"

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The encoder's token vectors -> the head's output, B x O."""
        vectors_SD = self.pooling(self.pairing(x_TD, packed).float(), packed)
        for layer in self.before_head:
            vectors_SD = layer(vectors_SD)
        in_both_orders = self.layout == "both_orders" and not self.pooling.per_token
        chunks = vectors_SD.chunk(2 if self.num_vectors == 2 or in_both_orders else 1)
        if self.num_vectors == 1:
            outputs = [self.head(chunk_BD) for chunk_BD in chunks]
        else:
            outputs = [self.head(*chunks)] + ([self.head(*reversed(chunks))] if self.symmetric else [])
        return torch.stack(outputs).mean(0) if len(outputs) > 1 else outputs[0]


class Model(nn.Module):
    def __init__(self, bert: Bert, tasks: Mapping[str, Task], plans: Mapping[str, TaskPlan], where: str) -> None:
        """`where`: the file of the plans, for error messages."""
        super().__init__()
        self.bert = bert
        self.shared = SharedLayers()

        def build(name: str) -> TaskModule:
            return TaskModule(bert, tasks[name], plans[name], where, self.shared)

        # the prefix allows tasks called `type` or `keys`, which are attributes of ModuleDict
        self.parts = nn.ModuleDict({f"task_{name}": build(name) for name in tasks})

    @property
    def tasks(self) -> dict[str, TaskModule]:
        return {name.removeprefix("task_"): self.task(name.removeprefix("task_")) for name in self.parts}

    def task(self, name: str) -> TaskModule:
        module = self.parts[f"task_{name}"]
        assert isinstance(module, TaskModule)
        return module

    def forward(self, batch: Batch, hooks: EncoderHooks | None = None) -> Tensor:
        """The output of the head of the batch's task, B x O; `hooks` replace those of the task's adapters."""
        return self.outputs([batch.task], batch.packed, hooks)[batch.task]

    def outputs(self, names: Sequence[str], packed: Packed, hooks: EncoderHooks | None = None) -> dict[str, Tensor]:
        """The output of each task's head, B x O; if there are several, the encoder must do the same work for all."""
        tasks = {name: self.task(name) for name in names}
        first = tasks[names[0]]
        if all(task.reads == first.reads for task in tasks.values()):
            vectors = {first.reads: first.pairing.encode(self.bert, packed, first.reads, hooks or first.hooks)}
        else:
            vectors = self.bert.read(packed, ["all", "first"])
        return {
            name: task(vectors[task.reads], packed.firsts if task.reads == "first" else packed)
            for name, task in tasks.items()
        }

    def prepare_batch(self, batch: Batch) -> Batch:
        """The batch as the task's head trains on it; a masked language model masks tokens here."""
        return self.task(batch.task).head.prepare(batch)

    def output_and_loss(self, batch: Batch, weights: Mapping[str, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Of a prepared batch; `weights` replace the model's parameters of these names in this pass."""
        assert batch.labels_B is not None
        output_BO: Tensor = functional_call(self, dict(weights), (batch,)) if weights else self(batch)
        return output_BO, self.task(batch.task).loss(output_BO.float(), batch.labels_B)

    def loss(self, batch: Batch) -> Tensor:
        return self.output_and_loss(self.prepare_batch(batch))[1]

    def predict(self, batch: Batch) -> Tensor:
        """classify: probabilities, B x C. score: scores, B."""
        return self.predict_tasks([batch.task], batch.packed)[batch.task]

    def predict_tasks(self, names: Sequence[str], packed: Packed) -> dict[str, Tensor]:
        """The predictions of tasks for which the encoder does the same work."""
        outputs = self.outputs(names, packed)
        return {name: self.task(name).loss.predict(output_BO.float()) for name, output_BO in outputs.items()}

    def to_device(self, precision: Precision, *, inference: bool = False) -> None:
        """Move to the fastest device; the encoder computes in this precision, the tasks' modules in fp32."""
        to_device(self.bert, precision, inference=inference)
        self.parts.to(self.device)
        self.shared.to(self.device)

    def forward_flops(self, batch: Batch) -> float:
        """Floating-point operations of the encoder's matrix products in a forward pass."""
        return forward_flops(self.bert.config, batch.packed, self.task(batch.task).reads)

    def set_trainable(self, which: str) -> None:
        """Freeze all parameters but these.

        "all"; "heads and adapters": all but the encoder; "heads": the same without adapters; "top 2": heads, adapters
        and the two highest layers of the encoder.
        """
        self.requires_grad_(which == "all")
        self.parts.requires_grad_(True)
        self.shared.requires_grad_(True)
        if which == "heads":
            for task in self.tasks.values():
                task.adapters.requires_grad_(False)
        if which.startswith("top "):
            for layer in list(self.bert.layers)[-int(which.removeprefix("top ")) :]:
                layer.requires_grad_(True)
            self.bert.pooler.requires_grad_(True)

    def train(self, mode: bool = True) -> "Model":
        super().train(mode)
        # dropout in a frozen encoder would only add noise to fixed features
        if not any(parameter.requires_grad for parameter in self.bert.parameters()):
            self.bert.eval()
        return self

    @property
    def device(self) -> torch.device:
        return self.bert.pooler.weight.device

    def counts(self) -> dict[str, int]:
        """Parameters of the encoder, of each task's modules, and of the layers that tasks share."""
        return {
            "encoder": count_parameters(self.bert.parameters()),
            **{name: count_parameters(task.parameters()) for name, task in self.tasks.items()},
            **{
                f"shared {name.removeprefix('shared_')}": count_parameters(layer.parameters())
                for name, layer in self.shared.items()
            },
        }


def count_parameters(parameters: Iterable[nn.Parameter]) -> int:
    return sum(parameter.numel() for parameter in parameters)
