"""minbert techniques: what a recipe can choose from."""

from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from minbert.cli.console import console, escape_markup, show_json, text_table
from minbert.cli.options import FamilyArgument, JsonOption
from minbert.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import inspect

    from minbert.training.registry import Technique


def techniques(family: FamilyArgument = None, as_json: JsonOption = False) -> None:
    """List all techniques with their settings: the default, or the choices with the default first.

    Formulas and sources are in docs/techniques.md.

    Example: minbert techniques balancer
    """
    from minbert.training.registry import FAMILIES, list_techniques

    # the table of a recipe that names the algorithm
    family = "algorithm" if family in ("optimizer", "optimizers") else family
    if family is not None and family not in FAMILIES:
        raise UserError(f"There is no family '{family}'. {did_you_mean(family, FAMILIES)}")
    found = [each for each in list_techniques() if family in (None, each.family)]
    if as_json:
        show_json([vars(each) | {"toml": setting_lines(each)} for each in found])
        return
    made = text_table("family", "name", "settings", "description", wrap=("settings", "description"))
    for each in found:
        settings = escape_markup(", ".join(setting_lines(each)))
        made.add_row(each.family, f"[bold]{each.name}[/]", settings, escape_markup(each.about))
    console.print(made)


def setting_lines(technique: "Technique") -> list[str]:
    """Its settings as a recipe writes them: dropout = 0.1, start = "zero" | "normal"."""
    import inspect

    from minbert.config.schema import settings_of
    from minbert.training.registry import FAMILIES

    make = FAMILIES[technique.family][technique.name]
    hints = get_type_hints(make.__init__ if inspect.isclass(make) else make)
    return [f"{name} = {setting_value(each, hints[name])}" for name, each in settings_of(make).items()]


def setting_value(setting: "inspect.Parameter", hint: Any) -> str:
    """The choices with the default first; else the default; else what kind of value the recipe must give."""
    from minbert.config.schema import describe_type

    choices = [choice for option in options_of(hint) if get_origin(option) is Literal for choice in get_args(option)]
    default = setting.default
    if default is setting.empty or default is None:
        kinds = " | ".join(toml_value(choice) for choice in choices) or describe_type(hint)
        return f"{kinds} (optional)" if default is None else kinds
    others = [choice for choice in choices if choice != default]
    return " | ".join(toml_value(each) for each in (default, *others))


def options_of(hint: Any) -> tuple[Any, ...]:
    """int | None -> int, None."""
    import types

    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def toml_value(value: Any) -> str:
    import tomli_w

    plain = list(value) if isinstance(value, tuple) else value
    text = tomli_w.dumps({"value": plain}).removeprefix("value = ").strip()
    # tomli_w writes one item of a list per line
    return " ".join(text.split()).replace("[ ", "[").replace(", ]", "]").replace(",]", "]")
