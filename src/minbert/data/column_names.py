"""The name of a column -> what it probably holds: a text, one of a pair of texts, a label, or an id."""

import re


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


TEXT_WORDS = word_set(
    "text texts sentence review reviews comment comments question message content body utterance query tweet document "
    "description title headline post input passage paragraph statement claim snippet abstract transcript email sms "
    "phrase prompt string"
)
LABEL_WORDS = word_set(
    "label labels gold class classes category categories sentiment star stars rating ratings score scores similarity "
    "relatedness entailment intent intents target y topic topics emotion emotions polarity toxic toxicity spam "
    "duplicate paraphrase acceptable acceptability judgment judgement stance quality relevance grade tag tags "
    "annotation outcome verdict subjectivity sarcasm hate offensive"
)
# about a label, but not the label
ABOUT_WORDS = word_set(
    "confidence probability prob count votes num number time date source reason url length agreement"
)
ID_WORDS = word_set("id ids idx index guid uuid uid key rowid")
# these are scores even where all of them are whole numbers
SCORE_WORDS = word_set("similarity relatedness sim cosine")
PAIRS = [
    ("premise", "hypothesis"), ("question", "answer"), ("question", "passage"), ("question", "sentence"),
    ("question", "context"), ("query", "passage"), ("query", "document"), ("query", "title"), ("query", "text"),
    ("query", "product_title"), ("text", "text_pair"), ("anchor", "positive"), ("claim", "evidence"),
    ("context", "response"), ("context", "hypothesis"), ("reference", "candidate"), ("source", "translation"),
    ("first", "second"), ("left", "right"),
]  # fmt: skip
SECOND = {"1": "2", "a": "b", "one": "two", "0": "1"}


def name_words(name: str) -> list[str]:
    """The words of a column's name in lower case: `goldLabel`, `gold_label` and `data.gold label` have two or more."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]


def names_label(name: str) -> bool:
    words = name_words(name)
    if ABOUT_WORDS & set(words):
        return False
    return bool(LABEL_WORDS & set(words)) or (len(words) > 1 and words[0] in ("is", "has"))


def names_text(name: str) -> bool:
    words = name_words(name)
    return bool(words) and re.sub(r"\d+$", "", words[-1]) in TEXT_WORDS


def names_id(name: str) -> bool:
    words = name_words(name)
    return (bool(ID_WORDS & set(words)) and not names_label(name)) or name.lower().startswith("unnamed")


def names_score(name: str) -> bool:
    return bool(SCORE_WORDS & set(name_words(name)))


def named_pairs(names: list[str]) -> list[tuple[str, str]]:
    """Columns that belong together by their names: sentence1 and sentence2, premise and hypothesis."""
    by_name = {"_".join(name_words(name)): name for name in names}
    found = [(by_name[a], by_name[b]) for a, b in PAIRS if a in by_name and b in by_name]
    # of sentence1 and sentence1_parse, the shorter
    for plain, name in sorted(by_name.items(), key=lambda each: len(each[0])):
        ending = re.fullmatch(r"(.*?)(_?)(1|a|one|0)((?:_.*)?)", plain)
        if ending:
            second = f"{ending[1]}{ending[2]}{SECOND[ending[3]]}{ending[4]}"
            if second in by_name:
                found.append((name, by_name[second]))
    # last: beside text1 and text2, text is something else
    seconds = [(plain, f"{plain}{ending}") for plain in by_name for ending in ("2", "_2") if names_text(plain)]
    return [*found, *((by_name[plain], by_name[second]) for plain, second in seconds if second in by_name)]
