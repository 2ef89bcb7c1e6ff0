"""A signature is the schema of what a recipe may write: every mistake is named, with its next step."""

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from minbert.config.schema import build_technique, convert, describe_type, fill_settings, settings_of, split_spec
from minbert.config.task import read_task
from minbert.errors import UserError, did_you_mean
from minbert.model.heads import HEADS
from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead
from tests.tiny import encoder_of

WHERE = "recipes/x.toml"
PLACE = HeadContext(read_task("sst"), encoder_of(4), num_vectors=1, num_outputs=5)


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5


class Technique:
    """One setting of each type that our techniques have."""

    def __init__(
        self,
        given: str,
        *,
        share: float = 0.1,
        count: int = 3,
        name_of: str = "x",
        on: bool = False,
        mode: Literal["in", "out"] = "in",
        several: tuple[str, ...] = (),
        weights: dict[str, float] = {},  # noqa: B006
        limit: float | None = None,
        inner: Inner = Inner(),
    ) -> None:
        if count < 0:
            raise ValueError("'count' is not below 0")
        self.given, self.settings = given, dict(locals())


def made(**settings: Any) -> dict[str, Any]:
    """The settings that reach the technique."""
    return build_technique("thing", {"it": Technique}, {"name": "it", **settings}, WHERE, "given").settings


def refusal(**settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        made(**settings)
    return str(caught.value)


def test_a_misspelt_setting_is_named_with_its_file_and_the_right_spelling() -> None:
    with pytest.raises(UserError) as caught:
        build_technique("head", HEADS, {"name": "linear", "dropuot": 0.1}, WHERE, PLACE)
    assert str(caught.value) == ("recipes/x.toml: unknown setting 'dropuot' of head 'linear'. Did you mean 'dropout'?")


def test_a_setting_like_no_other_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError) as caught:
        build_technique("head", HEADS, {"name": "linear", "zzz": 1}, WHERE, PLACE)
    expected = "recipes/x.toml: unknown setting 'zzz' of head 'linear'. Known: bias, dropout, features."
    assert str(caught.value) == expected


def test_a_technique_is_built_from_its_bare_name_or_from_a_table() -> None:
    plain = build_technique("head", HEADS, "linear", WHERE, PLACE)
    tuned = build_technique("head", HEADS, {"name": "linear", "dropout": 0.25}, WHERE, PLACE)
    assert isinstance(plain, LinearHead) and isinstance(tuned, LinearHead)
    assert (plain.dropout.rate, tuned.dropout.rate) == (0.1, 0.25)


def test_the_recipe_cannot_write_what_the_program_gives() -> None:
    assert list(settings_of(HEADS["linear"])) == ["dropout", "features", "bias"]
    assert "unknown setting 'given'" in refusal(given="mine")


def test_an_unknown_technique_suggests_the_closest() -> None:
    with pytest.raises(UserError) as caught:
        build_technique("head", HEADS, "liner", WHERE, PLACE)
    assert str(caught.value) == "recipes/x.toml: unknown head 'liner'. Did you mean 'linear'?"


def test_a_table_without_a_name_is_refused_with_an_example() -> None:
    for spec in ({"dropout": 0.1}, {"name": 3}):
        with pytest.raises(UserError) as caught:
            split_spec(spec, WHERE)
        assert caught.value.problem == "recipes/x.toml: a table needs a 'name'."
        assert 'name = "linear"' in caught.value.next_step


def test_a_spec_is_left_as_it_was() -> None:
    spec = {"name": "linear", "dropout": 0.1}
    assert split_spec(spec, WHERE) == ("linear", {"dropout": 0.1})
    assert spec == {"name": "linear", "dropout": 0.1}


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [
        ("share", "0.1", "a number"),
        ("share", True, "a number"),
        ("share", float("nan"), "a number"),
        ("share", float("inf"), "a number"),
        ("share", 10**400, "a number"),
        ("count", 1.5, "a whole number"),
        ("count", True, "a whole number"),
        ("count", "3", "a whole number"),
        ("name_of", 1, "a string"),
        ("on", 1, "true or false"),
        ("on", "true", "true or false"),
        ("mode", "up", "'in' or 'out'"),
        ("several", "u", "a list of strings"),
        ("several", ["u", 1], "a list of strings"),
        ("weights", [1.0], "a table of numbers"),
        ("weights", {"a": "b"}, "a table of numbers"),
        ("limit", "none", "a number"),
        ("inner", 0.5, "a table"),
    ],
)
def test_a_wrong_type_is_named_with_what_it_should_be(setting: str, value: Any, wanted: str) -> None:
    assert refusal(**{setting: value}) == (
        f"recipes/x.toml: setting '{setting}' of thing 'it' should be {wanted}, not {value!r}."
    )


def test_a_whole_number_is_taken_where_a_number_is_wanted() -> None:
    settings = made(share=1, limit=2, weights={"a": 3})
    assert (settings["share"], settings["limit"], settings["weights"]) == (1.0, 2.0, {"a": 3.0})
    assert all(type(value) is float for value in (settings["share"], settings["limit"], settings["weights"]["a"]))


def test_settings_of_each_type_reach_the_technique() -> None:
    settings = made(count=4, name_of="y", on=True, mode="out", several=["u", "v"], limit=0.5)
    assert settings["given"] == "given"
    assert settings["count"] == 4 and settings["name_of"] == "y" and settings["on"] is True
    assert settings["mode"] == "out" and settings["several"] == ("u", "v") and settings["limit"] == 0.5


def test_a_nested_table_is_checked_like_the_outer_one() -> None:
    assert made(inner={"rate": 1})["inner"] == Inner(rate=1.0)
    assert refusal(inner={"raet": 1}) == ("recipes/x.toml: unknown setting 'raet' of 'inner'. Did you mean 'rate'?")
    assert refusal(inner={"rate": "x"}) == ("recipes/x.toml: setting 'rate' of 'inner' should be a number, not 'x'.")


def test_a_setting_without_default_is_required() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Needs:
        size: int
        about: str = field(default="")

    with pytest.raises(UserError, match=r"^recipes/x.toml: thing 'it' needs the setting 'size'\.$"):
        fill_settings(Needs, {"about": "y"}, WHERE, "thing 'it'")
    assert fill_settings(Needs, {"size": 1}, WHERE, "thing 'it'") == Needs(size=1)


def test_what_a_technique_says_against_a_value_becomes_a_message_for_the_user() -> None:
    assert refusal(count=-1) == "recipes/x.toml: thing 'it': 'count' is not below 0"


def test_labels_may_mix_types_and_keep_them() -> None:
    hint = tuple[str | int | float | bool, ...]
    values = convert([0, 1.5, "a", True], hint, WHERE, "labels")
    assert values == (0, 1.5, "a", True) and [type(v) for v in values] == [int, float, str, bool]
    assert describe_type(hint) == "a list of strings or whole numbers or numbers or true or false"


def test_suggestions_say_so_when_there_is_nothing_to_suggest() -> None:
    assert did_you_mean("x", []) == "None are known."
    assert did_you_mean("lineer", ["cosine", "linear"]) == "Did you mean 'linear'?"
