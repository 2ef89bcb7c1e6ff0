"""A number and a noun -> "1 row", "2 rows", "1,200 rows"."""


def plural(number: int, noun: str, many: str = "") -> str:
    """`many`: the plural, if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else many or f'{noun}s'}"
