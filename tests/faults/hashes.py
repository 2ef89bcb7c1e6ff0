"""What a run made, as one number a file."""

import hashlib
from pathlib import Path


def run_hash(run: Path) -> dict[str, str]:
    """Of every file of the kept model, the metrics and the predictions."""
    files = [*sorted((run / "model").iterdir()), run / "metrics.jsonl", *sorted((run / "predictions").iterdir())]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
