"""A file in fastText's format, `__label__good A fine film.` -> the error that says how to convert it."""

from pathlib import Path
from shlex import quote

from minbert.errors import UserError, short_path

FASTTEXT_LABEL = "__label__"
CONVERT = (
    "import csv, sys; rows = csv.writer(sys.stdout); rows.writerow(['label', 'text']); "
    f"rows.writerows(line.strip().removeprefix('{FASTTEXT_LABEL}').split(' ', 1) for line in sys.stdin if ' ' in line)"
)


def fasttext_file(path: Path) -> UserError:
    named = short_path(path)
    file = Path("FILE.txt" if named == "standard input" else named)
    return UserError(
        f"{path}: this is a fastText file ({FASTTEXT_LABEL}...), which has no columns.",
        f'Write it as a csv file:\npython -c "{CONVERT}" < {quote(str(file))} > {quote(f"{file.stem}.csv")}',
    )
