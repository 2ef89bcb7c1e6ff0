"""Values of a label column -> the text of each label as the file writes it."""

from minbert.config.task import label_key


class LabelSpellings:
    """True, 01 or 1.0 as they are written; a label that is written in several ways has the spelling of its key."""

    def __init__(self) -> None:
        # key -> text
        self.texts: dict[str, str] = {}

    def add(self, value: object, key: str = "") -> str:
        """Returns the key of the value."""
        key = key or label_key(value)
        text = value.strip() if isinstance(value, str) else key
        if self.texts.setdefault(key, text) != text:
            self.texts[key] = key
        return key
