"""(a family's table, settings) -> an object. A signature is the schema of what a recipe may write.

Positional parameters are given by the program; keyword-only parameters are the settings. The same rule
reads the recipe's own dataclasses, so there is one mechanism and one way to report an error.
"""

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from minbert.config.other_names import FIRST_STAGE, family_word, setting_elsewhere, technique_elsewhere
from minbert.config.renamed import renamed_setting, renamed_technique
from minbert.errors import UserError, did_you_mean

T = TypeVar("T")

# How a recipe names a technique: "linear", or {name = "linear", dropout = 0.1}.
Spec = str | dict[str, Any]


def settings_of(make: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The settings of a technique: the keyword-only parameters of its constructor."""
    parameters = inspect.signature(make).parameters.values()
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}


def split_spec(spec: Spec, where: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings of a technique as a recipe wrote it."""
    if isinstance(spec, str):
        return spec, {}
    settings = dict(spec)
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: a table needs a 'name'.", 'Write for example {name = "linear", dropout = 0.1}.')
    return name, settings


def choose_technique(family: str, table: Mapping[str, T], spec: Spec, where: str) -> tuple[T, dict[str, Any], str]:
    """The family's entry that the recipe names, its settings, and its name for error messages."""
    name, settings = split_spec(spec, where)
    if name not in table:
        known = technique_elsewhere(family, name) or did_you_mean(name, table)
        unknown = f"unknown {family_word(family)} '{name}'. {known}"
        raise UserError(f"{where}: {renamed_technique(family, name) or unknown}")
    return table[name], settings, f"{family_word(family)} '{name}'"


def build_technique(family: str, table: Mapping[str, Callable[..., T]], spec: Spec, where: str, /, *given: object) -> T:
    """Construct the technique that the recipe names, from the program's arguments and the recipe's settings."""
    make, settings, what = choose_technique(family, table, spec, where)
    return fill_settings(make, settings, where, what, *given)


def expand_spec(family: str, table: Mapping[str, Callable[..., T]], spec: Spec, where: str) -> Spec:
    """The technique with every setting, defaults included; its bare name if it has no settings.

    A default of None is left out: TOML cannot express it.
    """
    make, settings, _ = choose_technique(family, table, spec, where)
    name, _ = split_spec(spec, where)
    defaults = {key: parameter.default for key, parameter in settings_of(make).items()}
    full = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in {**defaults, **settings}.items()
        if value is not None
    }
    return {"name": name, **full} if full else name


def check_known(
    settings: Collection[str], known: Collection[str], where: str, what: str, first_stage: str = FIRST_STAGE
) -> None:
    """UserError for the first setting that is unknown; `first_stage`: the path of the settings of a stage."""
    for name in settings:
        if name not in known:
            of = f" of {what}" if what else ""
            meant = setting_elsewhere(name, known, first_stage) or did_you_mean(name, known)
            unknown = f"unknown setting '{name}'{of}. {meant}"
            raise UserError(f"{where}: {renamed_setting(name, known) or unknown}")


def check_rules(rules: Mapping[str, bool]) -> None:
    """ValueError that names the rules that the settings break."""
    broken = [rule for rule, kept in rules.items() if not kept]
    if broken:
        raise ValueError(f"needs {'; '.join(broken)}")


def fill_settings(make: Callable[..., T], settings: Mapping[str, Any], where: str, what: str, /, *given: object) -> T:
    """Call `make` with settings checked against its signature: names, then types."""
    known = settings_of(make)
    hints = get_type_hints(make.__init__ if inspect.isclass(make) else make)
    check_known(settings, known, where, what)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in settings:
            raise UserError(f"{where}: {what} needs the setting '{name}'.")
    checked = {}
    for name, value in settings.items():
        default = known[name].default
        if hints.get(name) == Spec and isinstance(value, dict) and default and isinstance(default, str):
            # settings without a name are those of the default technique
            value = {"name": default, **value}
        try:
            checked[name] = convert(value, hints.get(name, Any), where, name)
        except TypeError as wrong:
            of = f" of {what}" if what else ""
            raise UserError(f"{where}: setting '{name}'{of} should be {wrong}, not {value!r}.") from None
    try:
        return make(*given, **checked)
    except UserError:
        raise
    except ValueError as wrong:
        raise UserError(f"{where}: {what}: {wrong}") from None


def convert(value: Any, hint: Any, where: str, name: str) -> Any:
    """A TOML value as the hinted type; TypeError(what it should be) if it cannot be converted."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any or (origin is Literal and value in args):
        return value
    if origin in (Union, types.UnionType):
        for option in args:
            with suppress(TypeError):
                return convert(value, option, where, name)
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, hint):
            return value
        if isinstance(value, dict):
            return fill_settings(hint, value, where, f"'{name}'")
    elif origin is tuple and isinstance(value, list | tuple):
        with suppress(TypeError):
            return tuple(convert(item, args[0], where, name) for item in value)
    elif origin is dict and isinstance(value, dict):
        with suppress(TypeError):
            return {key: convert(item, args[1], where, f"{name}.{key}") for key, item in value.items()}
    elif is_plain(value, hint):
        return float(value) if hint is float else value
    raise TypeError(describe_type(hint))


def is_plain(value: Any, hint: Any) -> bool:
    """Whether a number, string, bool or None is of the hinted type."""
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        # TOML has nan and inf; no setting has a use for them
        return abs(value) <= sys.float_info.max
    return isinstance(hint, type) and isinstance(value, hint) and isinstance(value, bool) == (hint is bool)


def describe_type(hint: Any, many: bool = False) -> str:
    """A type in words for an error message."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(option, many) for option in args if option is not types.NoneType)
    if origin is Literal:
        return " or ".join(repr(option) for option in args)
    if origin is tuple:
        return f"a list of {describe_type(args[0], many=True)}"
    if origin is dict and args[1] is not Any:
        return f"a table of {describe_type(args[1], many=True)}"
    if origin is dict or dataclasses.is_dataclass(hint):
        return "tables" if many else "a table"
    if hint is bool:
        return "true or false"
    words = {int: "whole number", float: "number", str: "string"}
    word = words.get(hint, getattr(hint, "__name__", str(hint)))
    return f"{word}s" if many else f"a {word}"
