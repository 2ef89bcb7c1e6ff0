"""What several tests share: small real recipes on the demo data, run in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.runs.events import Event, Finished
from minbert.runs.run import start_run


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


Minbert = Callable[..., Said]
DEMO = Path(__file__).parents[1] / "src/minbert/data/demo"


def demo_recipe(backbone: Path, *overrides: str, epochs: int = 1, steps: int = 3) -> Recipe:
    """The shipped demo on another backbone, shortened."""
    short = [f"stages.0.epochs={epochs}", f"stages.0.steps_per_epoch={steps}"]
    return read_recipe("demo", [f"backbone={backbone}", *short, *overrides])


def run_all(recipe: Recipe, out: Path, **options: bool) -> tuple[list[Event], Finished]:
    events = list(start_run(recipe, out, **options))
    finished = events[-1]
    assert isinstance(finished, Finished)
    return events, finished


def write_csv(path: Path, header: str, rows: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path
