"""What the user says about columns -> the choice for each task: for all data, or {name: ...} for each."""

from collections.abc import Collection, Mapping
from typing import Any

from minbert.data.infer_task import ColumnChoice
from minbert.errors import UserError, did_you_mean


class Choices:
    def __init__(self, text: Any, label: Any, kind: Any, keep_na: bool = False) -> None:
        self.text, self.label, self.kind, self.keep_na = text, label, kind, keep_na

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
            raise UserError(f"kind is 'classify' or 'score', not {kind!r}.")
        return ColumnChoice(as_names(text, "text"), as_names(label, "label"), kind or "", keep_na=self.keep_na)


def as_names(given: Any, option: str) -> tuple[str, ...]:
    if given is None:
        return ()
    names = [given] if isinstance(given, str | int) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | int) for name in names):
        raise UserError(
            f"{option} is the name of a column, or a list of names, not {given!r:.80}.",
            f'For example: {option}="review"',
        )
    # pandas numbers columns that have no names
    return tuple(map(str, names))
