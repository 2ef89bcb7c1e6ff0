"""Messages for the command line -> messages for Python: `--kind score` is `kind="score"` here.

They are worded for one of two readers: users of `minbert.train` and runs, and users of estimators.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from minbert.data.rejects import BadRows
from minbert.errors import UserError
from minbert.python.estimator_options import SETTINGS
from minbert.python.fit_input import ONLY_TASK

Words = Callable[[str], str]

# options of the command line that say yes
FLAGS = ("force", "strict", "skip_bad_rows", "keep_na")
# bad rows in a message; rows in memory are easier to look up than lines of a file
FEW_BAD_ROWS = 5
VALUE = r"\.\.\.|\"[^\"]*\"|\[[^\]]*\]|[^\s,:)]*[^\s,:).]"
# sentences that would be wrong word by word
SENTENCES = {
    r"`?minbert train (?:RECIPE|FILE) --out RUN`?": 'minbert.train(data, out="RUN")',
    # a path with spaces is in quotes
    r"minbert resume (?:'([^']*)'|(\S+))": r'minbert.resume("\1\2")',
    r"`minbert evaluate (\S+)` shows its scores": r'minbert.Run("\1").scores has its scores',
    r"`minbert predict --input`": "run.predict",
    r"; `minbert check` (lists (them( all)?|all rows)|finds problems in those that there are)": "",
    r"Name the folder that holds \S+, with --data-root FOLDER or the variable MINBERT_DATA\.": (
        'Put it back there, or give rows: run.evaluate({"TASK": rows})'
    ),
    r"Name a file: --data TASK=FILE": 'Give rows: run.evaluate({"TASK": rows})',
    r"Give task '(\S+)' a dev file, or more rows": r"Give dev rows too, as (train, dev) of task '\1', or more rows",
    r"--text twice for pairs, --label again for more tasks": (
        'text=["a", "b"] for pairs, label=["a", "b"] for more tasks'
    ),
    r"--label (\S+) --label \.\.\.": r'label=["\1", ...]',
    r"(name another column) with --(text|label)": r"\1 with `\2`",
    r"(Name another column) with --(text|label)": r"\1 with `\2`",
    r"--metric (\S+): no task": r'metric="\1": no task',
    r"with --recipe NAME": 'with recipe="NAME"',
}


# estimators have one task, which they do not name, and skip no rows but those with empty texts
ESTIMATOR_SENTENCES = {
    rf"^{ONLY_TASK}: ": "",
    r"\btasks\.TASK\.": f"tasks.{ONLY_TASK}.",
    r", or skip them with --skip-bad-rows": "",
}


@dataclass(frozen=True)
class Wording:
    """A message for the command line -> the same for a reader in Python."""

    sentences: Mapping[str, str]
    # the parameter that writes a setting, by the setting's path
    parameters: Mapping[str, str]

    def __call__(self, message: str) -> str:
        for sentence, ours in self.sentences.items():
            message = re.sub(sentence, ours, message)
        message = re.sub(rf"--set ((?:[\w.]+=(?:{VALUE})(?:, (?=[\w.]+=))?)+)", self.arguments, message)
        message = re.sub(r"--(kind) (classify|score)\b", r'\1="\2"', message)
        column = r'"[^"]+"|[\w.-]*\w'
        message = re.sub(rf"--(text|label) ({column})(?= --| \(|[.,;)]?\s|[.;)]?$)", named_column, message)
        return re.sub(r"(?<![\w-])--([a-z][a-z-]+)", option_name, message)

    def arguments(self, found: re.Match[str]) -> str:
        """optimizer.learning_rate=1e-4 -> learning_rate=1e-4, or settings={"optimizer.learning_rate": 1e-4}."""
        given = {path: python_value(value) for path, value in re.findall(rf"([\w.]+)=({VALUE})", found[1])}
        named = [f"{self.parameters[path]}={value}" for path, value in given.items() if path in self.parameters]
        others = [f'"{path}": {value}' for path, value in given.items() if path not in self.parameters]
        return ", ".join([*named, *(["settings={" + ", ".join(others) + "}"] if others else [])])


in_python = Wording(SENTENCES, {"backbone": "backbone", "seed": "seed"})
for_estimators = Wording(
    {**ESTIMATOR_SENTENCES, **SENTENCES}, {path: name for name, paths in SETTINGS.items() for path in paths}
)


def python_value(written: str) -> str:
    plain = re.fullmatch(r"\.\.\.|\".*\"|\[.*\]|[-+\d.e]+", written)
    return written if plain else {"true": "True", "false": "False"}.get(written, f'"{written}"')


def named_column(found: re.Match[str]) -> str:
    name = found[2].strip('"')
    more = "," if found.string[found.end() :].startswith(" --") else ""
    return f'{found[1]}="{name}"{more}'


def option_name(found: re.Match[str]) -> str:
    name = {"set": "settings"}.get(found[1], found[1].replace("-", "_"))
    return f"{name}=True" if name in FLAGS else f"`{name}`"


@contextmanager
def python_words(reword: Words = str, words: Words = in_python) -> Iterator[None]:
    """Errors within it name parameters instead of options of the command line.

    `reword`: what else to change, before; it names what was given instead of the files that hold it. `words`: how
    messages are worded.
    """
    try:
        yield
    except UserError as wrong:
        error = BadRows(wrong.rejects, FEW_BAD_ROWS) if isinstance(wrong, BadRows) else wrong
        in_memory = reword(error.problem)
        next_step = error.next_step
        if in_memory != error.problem:
            in_memory = in_memory.replace(" (JSON, UTF-8)", "")
            next_step = re.sub(r" It was read as [^.]*\.", "", next_step.replace("The file has the", "It has the"))
        problem, next_step = words(in_memory), words(next_step)
        if re.search(", rows? ", problem) and in_memory != error.problem:
            next_step = f"{next_step} Rows are counted from 0."
        raise UserError(problem, next_step.strip()) from None
