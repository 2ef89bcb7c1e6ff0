"""The types of all arguments and options of the commands, with their help texts."""

from pathlib import Path
from typing import Annotated, Literal

import typer

# ---- shared by several commands -----------------------------------------------------------------------

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="Recipe file, or name of a shipped recipe (see `minbert recipes`).")
]
RecipeOrFilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...|RECIPE",
        help="Data files (csv, tsv, jsonl, json, parquet, xlsx; - for standard input), or a recipe: its file, or the "
        "name of a shipped one.",
    ),
]
DataFilesArgument = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Data files: csv, tsv, jsonl, json, parquet, xlsx; - for standard input."),
]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="COLUMN", help="Of data files: the text column; twice for pairs.", show_default=False
    ),
]
LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="COLUMN", help="Of data files: the label column; repeat it for several tasks.",
        show_default=False,
    ),
]  # fmt: skip
KindOption = Annotated[
    Literal["classify", "score"] | None,
    typer.Option("--kind", help="Of data files: whether labels are classes or scores.", show_default=False),
]
KeepNaOption = Annotated[
    bool, typer.Option("--keep-na", help="Of data files: N/A, NaN, NULL and the like are labels, not missing.")
]
TaskNameOption = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="NAME", help="Of data files: the task's name. Default: its label column.", show_default=False
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric", help="Of data files: main metric, such as macro_f1 or spearman. It decides which model is kept.",
        show_default=False,
    ),
]  # fmt: skip
TaskLengthOption = Annotated[
    int | None,
    typer.Option(
        "--max-length", min=8, help="Of data files: tokens per row that are read. Default: fits the data.",
        show_default=False,
    ),
]  # fmt: skip
WithRecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe", metavar="RECIPE", help="Of data files: train them with a recipe's settings.", show_default=False
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory, as made by `minbert train`.")]
DataRootOption = Annotated[
    Path | None,
    typer.Option("--data-root", envvar="MINBERT_DATA", help="Directory with the tasks' files.", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a setting: --set epochs=3. Repeatable; `minbert show` lists all."
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Use this seed instead of the recipe's.", show_default=False)
]
SkipBadRowsOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Skip and count invalid rows instead of stopping.")
]
PrecisionOption = Annotated[
    Literal["auto", "fp32", "bf16"],
    typer.Option("--precision", help="Precision of the encoder. auto: bf16 if it is fast on this machine, else fp32."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop before training if a dev or test row is also a training row.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, help="Training runs at once. Default: as many as suit this machine.", show_default=False
    ),
]
MergedOutOption = Annotated[Path, typer.Option("--out", help="Directory to write; use it like a run.")]
ResumeFileOption = Annotated[
    bool, typer.Option("--resume", help="Resume this command after an interruption, with the same result.")
]

# ---- demo, train, resume ------------------------------------------------------------------------------

DemoOutOption = Annotated[Path, typer.Option("--out", help="Directory for the run.")]
TrainOutOption = Annotated[Path, typer.Option("--out", help="Directory for the new run.")]
RunBudgetOption = Annotated[
    str | None,
    typer.Option("--budget", help="Time for the whole run: 90s, 10m, 1h.", show_default=False),
]
SaveEveryOption = Annotated[
    str,
    typer.Option("--save-every", metavar="STEPS|TIME", help="Checkpoint interval: 200 (steps), 10m or 90s."),
]
KeepOption = Annotated[int, typer.Option("--keep", min=1, help="Number of checkpoints to keep.")]
ResumeRunOption = Annotated[
    bool, typer.Option("--resume", help="Resume the interrupted run in --out, if it has the same recipe.")
]
ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Profile a few training steps: writes profile.txt and profile.json.")
]

InitOutOption = Annotated[Path, typer.Option("--out", help="Directory for the recipe and its task files.")]

# ---- ensemble, soup -----------------------------------------------------------------------------------

EnsembleRunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Two or more runs, with any recipes and backbones.")
]
SoupRunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Two or more runs of one recipe with different seeds.")
]
BestOption = Annotated[bool, typer.Option("--best", help="Use only the best run for each task.")]

# ---- compare, reproduce -------------------------------------------------------------------------------

RecipesArgument = Annotated[
    list[str],
    typer.Argument(metavar="RECIPE", help="Recipe files, or names of shipped recipes (see `minbert recipes`)."),
]
ComparisonOutOption = Annotated[
    Path, typer.Option("--out", help="Directory of the comparison. Finished trials in it are reused.")
]
SeedsOption = Annotated[str, typer.Option("--seeds", help="Number of seeds (0, 1, ...), or a list of them: 3,5,8.")]
BaselineOption = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="RECIPE", help="Recipe to compare with. Default: the first.", show_default=False
    ),
]
BackboneOption = Annotated[
    str | None, typer.Option("--backbone", help="Use this backbone instead of the recipes'.", show_default=False)
]
SharingOption = Annotated[
    Literal["none", "alone", "matrix"],
    typer.Option(
        "--sharing",
        help="Test whether tasks help each other. alone: also train each task of the baseline alone. "
        "matrix: also train every pair of tasks, jointly and one after the other.",
    ),
]
CosinesOption = Annotated[
    int | None,
    typer.Option(
        "--cosines",
        min=0,
        help="Training rows per task for cosines between task gradients; 0: off. Default: 32, or 0 if the budget is "
        "below a minute.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    Literal["local", "ray"], typer.Option("--engine", help="Train in local processes, or on an existing Ray cluster.")
]
ReportArgument = Annotated[
    Literal["a", "b", "c", "d", "e", "all"], typer.Argument(metavar="REPORT", help="A report (a to e), or all.")
]
ReproduceBackboneOption = Annotated[
    str, typer.Option("--backbone", help="Backbone for all recipes; 'own' uses the one in each recipe.")
]
RowBudgetOption = Annotated[
    str, typer.Option("--budget", help="Training time per row: 90s, 5m, 1h; 'full' trains whole recipes.")
]
ReproduceOutOption = Annotated[Path, typer.Option("--out", help="Directory for the runs.")]
ReproduceSeedOption = Annotated[int, typer.Option("--seed", help="Seed of every run.")]
RowsOption = Annotated[
    str | None, typer.Option("--rows", metavar="ID,ID", help="Only these rows: a1,d-mse.", show_default=False)
]
ExtrasOption = Annotated[
    bool, typer.Option("--extras", help="Also train what a report tried or named without a row in a table.")
]
ReportFileOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.md", help="Where to write the table. Default: OUT/report.md."),
]

# ---- evaluate, predict, embed -------------------------------------------------------------------------

DataOption = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="TASK=FILE", help="Evaluate only this task, on this file. Repeatable."),
]
TaskArgument = Annotated[
    str | None,
    typer.Argument(metavar="TASK", help="One of the model's tasks, several (spam,topic), or all.", show_default=False),
]
TextArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="The text to predict for.", show_default=False)
]
SecondTextArgument = Annotated[
    str | None, typer.Argument(metavar="TEXT2", help="The second text of a pair.", show_default=False)
]
InputOption = Annotated[
    Path | None,
    typer.Option(
        "--input",
        help="csv, tsv, jsonl, json, parquet or xlsx file with the task's text columns; - for standard input.",
    ),
]
PredictColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="COLUMN", help="Of --input: the text column, if its name is not the task's; twice for pairs.",
        show_default=False,
    ),
]  # fmt: skip
OutputOption = Annotated[
    Path | None, typer.Option("--output", help="File for the predictions; its suffix sets the format.")
]
TasksOption = Annotated[
    str | None,
    typer.Option("--tasks", metavar="TASK,TASK", help="Predict several tasks in one pass over a file."),
]
FormatOption = Annotated[
    Literal["auto", "course"],
    typer.Option("--format", help="course: `id , prediction`, the format of the course's graders."),
]
AcceptRejectsOption = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Exit with 0 even if some rows were rejected.")
]
ModelArgument = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Run, backbone name (see `minbert models`) or model directory."),
]
TextFileArgument = Annotated[
    Path, typer.Argument(metavar="INPUT", help="Text file with one text per line, or a table with --column.")
]
ColumnOption = Annotated[
    str | None,
    typer.Option(
        "--column", metavar="NAME", help="Column of a csv, tsv, jsonl, json, parquet or xlsx file.", show_default=False
    ),
]
VectorFileArgument = Annotated[
    Path, typer.Argument(metavar="OUTPUT.npy", help="NumPy file to write: float32, one row per text.")
]
PoolingOption = Annotated[
    str, typer.Option("--pooling", help="How to pool the token vectors: mean, max, cls or pooler.")
]
NormalizeOption = Annotated[bool, typer.Option("--normalize", help="Scale each vector to length 1.")]
MaxLengthOption = Annotated[
    int, typer.Option("--max-length", min=8, help="Tokens per text; longer texts are truncated.")
]

# ---- report, runs, techniques, show -------------------------------------------------------------------

ReportedArgument = Annotated[
    Path, typer.Argument(metavar="RUN|COMPARISON", help="Run, or comparison made by `minbert compare`.")
]
SecondRunArgument = Annotated[
    Path | None,
    typer.Argument(metavar="RUN2", help="Second run, to see where the two disagree.", show_default=False),
]
ReportOutOption = Annotated[
    Path | None, typer.Option("--out", help="Where to write the report. Default: RUN/report, or the comparison.")
]
FiguresOption = Annotated[
    Path | None, typer.Option("--figures", metavar="DIR", help="Also write a comparison's figures as SVG files.")
]
RunsFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Directory to search, at any depth.")]
FamilyArgument = Annotated[
    str | None,
    typer.Argument(metavar="FAMILY", help="Only this family: pairing, head, sampler, ...", show_default=False),
]
ShapeOption = Annotated[
    Literal["base", "large", "minilm"] | None,
    typer.Option("--shape", help="Count for an encoder of this size; needs no weights.", show_default=False),
]
