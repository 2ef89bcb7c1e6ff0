"""Words of other libraries, and settings written in the wrong table -> the setting or technique to write here."""

from collections.abc import Collection
from typing import Any

FIRST_STAGE = "stages.0"

# where a recipe has each setting that is easily written elsewhere
PLACES = {
    **dict.fromkeys(("learning_rate", "head_learning_rate", "weight_decay", "layer_decay"), "optimizer"),
    **dict.fromkeys(("algorithm", "schedule", "warmup_ratio", "max_grad_norm"), "optimizer"),
    "gradient_accumulation_steps": "optimizer",
    **dict.fromkeys(("momentum", "nesterov", "betas", "eps", "correct_bias", "implementation"), "optimizer.algorithm"),
    **dict.fromkeys(("alpha", "beta2_decay", "clipping_threshold", "momentum_decay"), "optimizer.algorithm"),
    **dict.fromkeys(("epochs", "steps_per_epoch", "sampler", "trainable", "frozen_dropout"), FIRST_STAGE),
    **dict.fromkeys(("max_rows_per_task", "batch_sizes", "max_lengths", "distillation"), FIRST_STAGE),
    **dict.fromkeys(("patience", "keep", "validation_fraction", "eval_rows", "gradient_cosine_rows"), "selection"),
    **dict.fromkeys(("pairing", "pooling", "head", "loss", "adapters", "regularizers"), "defaults"),
    **dict.fromkeys(("symmetric", "shared_layer", "batch_size", "max_length"), "defaults"),
    **dict.fromkeys(("balancer", "weight_averaging", "epoch_fraction", "precision", "backbone", "seed"), ""),
}
# setting of transformers, sentence-transformers, PyTorch or scikit-learn: ours
OTHER_SETTINGS = {
    **dict.fromkeys(("lr", "learning-rate", "base_lr", "encoder_lr"), "learning_rate"),
    **dict.fromkeys(("head_lr", "classifier_lr"), "head_learning_rate"),
    **dict.fromkeys(("num_epochs", "num_train_epochs", "n_epochs", "max_epochs", "epoch"), "epochs"),
    **dict.fromkeys(("max_steps", "num_steps", "max_iter", "steps"), "steps_per_epoch"),
    **dict.fromkeys(("per_device_train_batch_size", "train_batch_size", "bs", "batch"), "batch_size"),
    **dict.fromkeys(("max_seq_length", "max_len", "max_sequence_length"), "max_length"),
    **dict.fromkeys(("warmup_steps", "warmup_proportion", "warmup", "num_warmup_steps"), "warmup_ratio"),
    **dict.fromkeys(("lr_scheduler_type", "lr_scheduler", "scheduler"), "schedule"),
    **dict.fromkeys(("optim", "optimizer_class"), "algorithm"),
    **dict.fromkeys(("adam_beta1", "adam_beta2", "beta1", "beta2"), "betas"),
    **dict.fromkeys(("adam_epsilon", "epsilon"), "eps"),
    **dict.fromkeys(("grad_clip", "clip_grad_norm", "gradient_clip_val", "clip"), "max_grad_norm"),
    **dict.fromkeys(("accumulate_grad_batches", "grad_accumulation_steps"), "gradient_accumulation_steps"),
    **dict.fromkeys(("layerwise_lr_decay", "llrd"), "layer_decay"),
    **dict.fromkeys(("early_stopping", "early_stopping_patience"), "patience"),
    **dict.fromkeys(("load_best_model_at_end", "save_best"), "keep"),
    **dict.fromkeys(("freeze", "frozen", "freeze_encoder"), "trainable"),
    **dict.fromkeys(("model_name", "model_name_or_path", "pretrained_model_name_or_path", "base_model"), "backbone"),
    **dict.fromkeys(("random_state", "random_seed"), "seed"),
    **dict.fromkeys(("fp16", "bf16", "dtype"), "precision"),
    **dict.fromkeys(("ema", "swa"), "weight_averaging"),
}
# tables of a recipe, by a setting that only they have
TABLES = {"backbone", "epochs", "pairing", "algorithm", "patience"}

# family: word of the field: technique
OTHER_TECHNIQUES = {
    "head": {
        **dict.fromkeys(("mlp", "two_layers", "feedforward", "ffn"), "two_layer"),
        **dict.fromkeys(("classification", "regression", "dense", "fc", "softmax"), "linear"),
        **dict.fromkeys(("cosine_similarity", "cos"), "cosine"),
    },
    "loss": {
        **dict.fromkeys(("ce", "crossentropy", "nll", "softmax", "classification"), "cross_entropy"),
        **dict.fromkeys(("regression", "l2", "mean_squared_error", "mse_loss"), "mse"),
        **dict.fromkeys(("binary_cross_entropy", "bce_with_logits", "binary"), "bce"),
        **dict.fromkeys(("multiple_negatives_ranking", "mnrl", "info_nce", "infonce"), "contrastive"),
        "coral": "ordinal",
    },
    "pooling": {
        **dict.fromkeys(("average", "avg", "mean_pooling"), "mean"),
        **dict.fromkeys(("cls_token", "first"), "cls"),
    },
    "pairing": {
        **dict.fromkeys(("cross-encoder", "crossencoder", "concat", "concatenate"), "cross_encoder"),
        **dict.fromkeys(("bi-encoder", "biencoder", "siamese", "sbert", "two_tower"), "bi_encoder"),
    },
    "algorithm": {
        **dict.fromkeys(("adamw_torch", "adamw_torch_fused", "adamw_hf"), "adamw"),
        "momentum": "sgd",
    },
    "schedule": {
        **dict.fromkeys(("constant_with_warmup", "none"), "constant"),
        **dict.fromkeys(("cosine_with_restarts", "cosine_annealing"), "cosine"),
        **dict.fromkeys(("onecycle", "1cycle"), "one_cycle"),
    },
    "adapters": {**dict.fromkeys(("adapter", "bottleneck", "pfeiffer"), "houlsby"), "pals": "pal"},
    "sampler": {"uniform": "round_robin", "sqrt": "square_root", "temperature": "annealed"},
    "balancer": {"kendall": "uncertainty", "equal": "sum", "mean": "sum"},
}
SINGULAR = {"adapters": "adapter", "regularizers": "regularizer"}


def family_word(family: str) -> str:
    """What one technique of a family is called in a sentence."""
    return SINGULAR.get(family, family)


def technique_elsewhere(family: str, name: str) -> str:
    """Our technique for another library's word, as a question; else nothing."""
    ours = OTHER_TECHNIQUES.get(family, {}).get(name.lower())
    return f"Did you mean '{ours}'?" if ours else ""


def setting_path(name: str, first_stage: str = FIRST_STAGE) -> str:
    """The full path of a setting by our name or another library's: lr -> optimizer.learning_rate; else nothing.

    `first_stage`: where the recipe has its stages; empty if it has none, and with it only `epochs`.
    """
    ours = OTHER_SETTINGS.get(name, name)
    place = PLACES.get(ours)
    if place is None:
        return ""
    if place == FIRST_STAGE:
        place = first_stage or ("" if ours == "epochs" else FIRST_STAGE)
    return f"{place}.{ours}".removeprefix(".")


def setting_elsewhere(name: str, known: Collection[str], first_stage: str = FIRST_STAGE) -> str:
    """Where an unknown setting of a recipe's table is written, in a sentence; else nothing."""
    path = setting_path(name, first_stage)
    if not path or not TABLES & set(known):
        return ""
    ours = path.rpartition(".")[2]
    return f"Did you mean '{ours}'?" if ours in known else f"The setting is '{path}'."


def first_stage_path(stages: Any) -> str:
    """stages.0, or stages.0.each.0 in a recipe that begins with a repeated group; nothing without stages."""
    if stages is None:
        return ""
    path = FIRST_STAGE
    while isinstance(stages, list) and stages and isinstance(stages[0], dict) and "each" in stages[0]:
        path, stages = f"{path}.each.0", stages[0]["each"]
    return path
