"""Names of recipes -> short labels that tell them apart."""

from dataclasses import replace

import pytest

from minbert.comparison.labels import short_labels, with_short_labels
from tests.browser.samples import HOSTILE, many, whole


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["papers/c-pals/pals.toml", "baseline"], ["pals", "baseline"]),
        (["./mine.toml", "C:\\recipes\\other.toml"], ["mine", "other"]),
        # as many folders as it takes
        (["a/x/pals.toml", "b/x/pals.toml", "lora"], ["a/x/pals", "b/x/pals", "lora"]),
        (["x/pals.toml", "pals"], ["x/pals", "pals"]),
        (["a", "a.toml"], ["a", "a.toml"]),
        # text with a slash in it is no path
        (["either / or", HOSTILE], ["either / or", HOSTILE]),
    ],
)
def test_labels_are_as_short_as_they_can_be(names: list[str], labels: list[str]) -> None:
    assert list(map(short_labels(names).get, names)) == labels


def test_sentences_use_the_short_labels_too() -> None:
    long = "recipes/papers/b-smart/smart.toml"
    results = with_short_labels(replace(many(), title=f"{long} and 9 others", caveats=(f"{long} took longer.",)))
    assert results.title == "smart and 9 others" and results.caveats == ("smart took longer.",)
    assert [each.label for each in results.systems][:3] == [
        "pals-annealed",
        "gradient-surgery",
        "cross-encoder-with-cosine-similarity-head",
    ]
    assert with_short_labels(whole()) == whole()
