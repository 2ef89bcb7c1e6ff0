"""Settings and techniques that were called something else before -> what to write now."""

from collections.abc import Collection

# old setting: new setting, wherever the new one is known
RENAMED_SETTINGS = {
    # recipe
    "optimiser": "optimizer",
    "share": "epoch_fraction",
    "average": "weight_averaging",
    # recipe.tasks and recipe.defaults
    "regularisers": "regularizers",
    "shared": "shared_layer",
    # recipe.stages
    "free": "trainable",
    "cap": "max_rows_per_task",
    "distil": "distillation",
    # recipe.optimizer
    "warmup": "warmup_ratio",
    "clip": "max_grad_norm",
    "accumulate": "gradient_accumulation_steps",
    # recipe.selection
    "rows": "eval_rows",
    "cosines": "gradient_cosine_rows",
    # task files
    "names": "label_names",
    "split": "dev_split",
}
# old setting of recipe.optimizer: what it is called as a setting of the algorithm
MOVED_TO_ALGORITHM = {"betas": "betas", "eps": "eps", "epsilon": "eps", "implementation": "implementation"}
# family: old name: new name
RENAMED_TECHNIQUES = {
    "pairing": {"joined": "cross_encoder", "apart": "bi_encoder", "twice": "simcse"},
    "pooling": {"asked": "masked_tokens"},
    "sampler": {"prioritised": "prioritized"},
    "trainable": {"parts": "heads and adapters"},
}


def renamed_setting(name: str, known: Collection[str]) -> str:
    """The sentence for an unknown setting that is the old name of a known one; else nothing."""
    if name == "mix" and "eval_rows" in known:
        return "'selection.mix' is now the table [overall], which ranks and selects models."
    if name in MOVED_TO_ALGORITHM and "algorithm" in known:
        now = f'algorithm = {{ name = "adamw", {MOVED_TO_ALGORITHM[name]} = ... }}'
        return f"'optimizer.{name}' is now a setting of the algorithm: write {now} in [optimizer]."
    new = RENAMED_SETTINGS.get(name)
    return f"'{name}' is now called '{new}'." if new in known else ""


def renamed_technique(family: str, name: str) -> str:
    """The sentence for an unknown technique that is the old name of another; else nothing."""
    new = RENAMED_TECHNIQUES.get(family, {}).get(name)
    return f"{family} '{name}' is now called '{new}'." if new else ""
