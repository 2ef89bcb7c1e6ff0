"""What the user says about columns -> the choice for each task: for all data, or {name: ...} for each."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from minbert.cli.data_files import set_metric
from minbert.data.infer_task import ColumnChoice, FoundTask
from minbert.errors import UserError, did_you_mean, short_repr

# other libraries' words for kinds
KINDS = {
    **dict.fromkeys(("classification", "classifier", "class", "label"), "classify"),
    **dict.fromkeys(("regression", "regressor", "number", "float"), "score"),
}


class Choices:
    def __init__(self, text: Any, label: Any, kind: Any, keep_na: bool = False, metric: Any = None) -> None:
        self.text, self.label, self.kind, self.keep_na, self.metric = text, label, kind, keep_na, metric

    def check_names(self, known: Collection[str]) -> None:
        for option, given in vars(self).items():
            for name in given if isinstance(given, Mapping) else ():
                if name not in known:
                    raise UserError(f"{option}: there is no data called '{name}'. {did_you_mean(name, known)}")

    def of(self, name: str) -> ColumnChoice:
        text, label, kind = (
            given.get(name) if isinstance(given, Mapping) else given for given in (self.text, self.label, self.kind)
        )
        if kind not in (None, "classify", "score"):
            ours = KINDS.get(str(kind).lower())
            how = (
                f'Use kind="{ours}".'
                if ours
                else "classify learns labels, score learns numbers; left out, it is found."
            )
            raise UserError(f"kind is 'classify' or 'score', not {kind!r}.", how)
        return ColumnChoice(as_names(text, "text"), as_names(label, "label"), kind or "", keep_na=self.keep_na)

    def set_metrics(self, found: Mapping[str, Sequence[FoundTask]]) -> None:
        """`found`: the tasks of each data; one metric for all data is for the tasks that have it."""
        if isinstance(self.metric, Mapping):
            for name, metric in self.metric.items():
                if name not in found:
                    raise UserError(f"metric: there is no data called '{name}'. {did_you_mean(name, found)}")
                set_metric(found[name], metric)
        else:
            set_metric([task for tasks in found.values() for task in tasks], self.metric)


def as_names(given: Any, option: str) -> tuple[str, ...]:
    if given is None:
        return ()
    names = [given] if isinstance(given, str | int) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | int) for name in names):
        raise UserError(
            f"{option} is the name of a column, or a list of names, not {short_repr(given)}.",
            f'For example: {option}="review"',
        )
    # pandas numbers columns that have no names
    return tuple(map(str, names))
