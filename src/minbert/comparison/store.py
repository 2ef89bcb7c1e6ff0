"""The results of a comparison in an SQLite file: what is acknowledged survives a kill, and several may write."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from minbert.comparison.results import TrialCost, TrialResult
from minbert.errors import UserError

# seconds to wait for another writer
PATIENCE = 60.0

TABLES = """
create table if not exists trials (
    key text primary key, label text not null, seed integer not null, state text not null, reason text not null,
    scores text not null, overall real, seconds real, steps real, tokens real, total integer, trainable integer,
    memory real, size real, run text not null
);
"""
COST = tuple(each.name for each in fields(TrialCost))
COLUMNS = ("key", "label", "seed", "state", "reason", "scores", "overall", *COST, "run")


class Store:
    def __init__(self, path: Path) -> None:
        self.path = path
        with self.connected() as database:
            database.executescript(TABLES)

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one piece of work: none is held over the hours of a training."""
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database:
                # a disk that cannot share memory between processes, as of another machine, stays with its journal
                database.execute("pragma journal_mode = wal")
                database.execute("pragma synchronous = full")
                with database:
                    yield database
        except sqlite3.DatabaseError as wrong:
            damaged = "malformed" in str(wrong) or "not a database" in str(wrong)
            mend = "Remove it: the same command makes it again from the results beside the trainings."
            raise UserError(f"{self.path}: {wrong}.", mend if damaged else "") from None

    def put(self, result: TrialResult) -> None:
        """When this returns, the row is on the disk."""
        cost = dict.fromkeys(COST) if result.cost is None else asdict(result.cost)
        row = {**asdict(result), **cost, "scores": json.dumps(result.scores)}
        names = ", ".join(COLUMNS)
        marks = ", ".join(f":{name}" for name in COLUMNS)
        with self.connected() as database:
            database.execute(f"insert or replace into trials ({names}) values ({marks})", row)

    def results(self) -> dict[str, TrialResult]:
        """All of them, by key."""
        with self.connected() as database:
            rows = database.execute(f"select {', '.join(COLUMNS)} from trials").fetchall()
        return {row[0]: result_of(dict(zip(COLUMNS, row, strict=True))) for row in rows}


def result_of(row: dict[str, Any]) -> TrialResult:
    costs = {name: row.pop(name) for name in COST}
    cost = None if costs["steps"] is None else TrialCost(**costs)
    return TrialResult(**row | {"scores": json.loads(row["scores"]), "cost": cost})
