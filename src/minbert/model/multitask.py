"""Batch -> loss or predictions: one shared encoder, and for each task a module of its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

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

# how the texts of a symmetric pair are laid out, for pairings that join them
BOTH_ORDERS: dict[Layout, Layout] = {"cross_encoder": "both_orders", "combined": "combined_both_orders"}


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
        self.before_head = self.shared_layers(bert, where, shared)
        loss = plan.loss or DEFAULT_LOSSES[task.kind]
        self.loss: Loss = build_technique("loss", LOSSES, loss, where, task)
        self.symmetric = plan.symmetric
        # divides the outputs of a classifier, so that its probabilities mean what they say
        self.temperature = 1.0
        self.num_vectors = self.count_vectors()
        self.concatenating = [layer for layer in self.before_head if layer.concatenates]
        if self.concatenating and self.num_vectors != 2:
            raise UserError(
                f"{where}: the shared layer concatenates two vectors, but there is only one per example.",
                'Set pairing = "bi_encoder", or vectors = "each" in the shared layer.',
            )
        context = HeadContext(task, bert, 1 if self.concatenating else self.num_vectors, self.loss.num_outputs)
        self.head: Head = build_technique("head", HEADS, plan.head, where, context)
        self.max_length = min(plan.max_length or task.most_tokens, bert.config.max_position_embeddings)
        self.check(plan, where, split_spec(loss, where)[0], bert.config.type_vocab_size)

    def build_pairing(self, bert: Bert, where: str, shared: SharedLayers) -> Pairing:
        """The pairing of the plan: the task's own, or one that it shares with other tasks."""
        own: Pairing = build_technique("pairing", PAIRINGS, self.plan.pairing, where, bert, self.task)
        if own.shared is None:
            return own
        kind = expand_spec("pairing", PAIRINGS, self.plan.pairing, where)
        return SharedPairing(shared.get_or_create(own.shared, self.task.name, kind, lambda: own, where))

    def count_vectors(self) -> int:
        """How many vectors of an example the head reads, unless a shared layer makes one of them."""
        if self.pooling.per_token:
            return 1
        if self.layout == "simcse":
            return 2
        return {"bi_encoder": 2, "combined": 3}.get(self.pairing.layout, 1) if self.task.paired else 1

    def shared_layers(self, bert: Bert, where: str, shared: SharedLayers) -> tuple[SharedLayer, ...]:
        """The layer between pooling and head that the plan names, if any."""
        plan = self.plan.shared
        if plan is None:
            return ()
        spec = {**asdict(plan), "name": "a layer before the head"}
        return (shared.get_or_create(plan.name, self.task.name, spec, lambda: SharedLayer(bert, plan), where),)

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
        return BOTH_ORDERS.get(self.pairing.layout, self.pairing.layout) if self.symmetric else self.pairing.layout

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
        outputs = [self.head(*vectors_BD) for vectors_BD in self.head_inputs(x_TD, packed)]
        return torch.stack(outputs).mean(0) if len(outputs) > 1 else outputs[0]

    def head_inputs(self, x_TD: Tensor, packed: Packed) -> list[Sequence[Tensor]]:
        """The vectors that the head reads, B x D each; once for each order of a symmetric pair."""
        vectors_SD = self.pooling(self.pairing(x_TD, packed).float(), packed)
        for layer in self.before_head:
            vectors_SD = vectors_SD if layer.concatenates else layer(vectors_SD)
        # the joined texts of a symmetric pair are there in both orders
        more = self.symmetric and self.pairing.layout in BOTH_ORDERS and not self.pooling.per_token
        chunks = vectors_SD.chunk(self.num_vectors + more)
        if self.num_vectors == 1:
            return [(chunk_BD,) for chunk_BD in chunks]
        u_BD, v_BD, *joined = chunks
        orders = [(u_BD, v_BD, *joined[:1]), (v_BD, u_BD, *joined[-1:])] if self.symmetric else [chunks]
        return [self.concatenate(order) for order in orders]

    def concatenate(self, vectors_BD: Sequence[Tensor]) -> Sequence[Tensor]:
        """The one vector that a shared layer makes of the two of a pair; without such a layer, both."""
        return [layer(torch.cat([*vectors_BD], 1)) for layer in self.concatenating] or vectors_BD


class Model(nn.Module):
    def __init__(self, bert: Bert, tasks: Mapping[str, Task], plans: Mapping[str, TaskPlan], where: str) -> None:
        """`where`: the file of the plans, for error messages."""
        super().__init__()
        self.bert = bert
        self.frozen_dropout = False
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
        return {
            name: self.task(name).loss.predict(output_BO.float() / self.task(name).temperature)
            for name, output_BO in outputs.items()
        }

    def to_device(self, precision: Precision, *, inference: bool = False) -> None:
        """Move to the fastest device; the encoder computes in this precision, the tasks' modules in fp32."""
        to_device(self.bert, precision, inference=inference)
        self.parts.to(self.device)
        self.shared.to(self.device)

    def forward_flops(self, batch: Batch) -> float:
        """Floating-point operations of the encoder's matrix products in a forward pass."""
        task = self.task(batch.task)
        # with adapters, the last layer is computed for all tokens
        return forward_flops(self.bert.config, batch.packed, task.reads if task.hooks is NO_HOOKS else "all")

    def set_trainable(self, which: str, frozen_dropout: bool = False) -> None:
        """Freeze all parameters but these.

        "all"; "heads and adapters": all but the encoder; "heads": the same without adapters; "top 2": heads, adapters
        and the two highest layers of the encoder. `frozen_dropout`: an encoder that is frozen as a whole keeps its
        dropout in training.
        """
        self.frozen_dropout = frozen_dropout
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
        # dropout in a frozen encoder adds noise to features that are fixed otherwise
        if not self.frozen_dropout and not any(parameter.requires_grad for parameter in self.bert.parameters()):
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
