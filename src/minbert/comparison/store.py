"""The results of a comparison <-> an SQLite file: what is acknowledged survives a kill, and several may write.

It is an index for reading, and it keeps the reasons of failed trials. The record of a finished trial is its run.json,
from which `minbert compare` makes a missing row again.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from minbert.comparison.results import TrialCost, TrialResult
from minbert.errors import UserError

# seconds to wait for another process that writes
BUSY_TIMEOUT = 60.0

STORE_TABLES = """
create table if not exists trials (
    key text primary key, label text not null, seed integer not null, state text not null, reason text not null,
    scores text not null, overall real, seconds real, steps real, tokens real, total integer, trainable integer,
    memory real, size real, run text not null
);
"""
# columns that tables of earlier versions lack
ADDED_COLUMNS = {"examples": "real default 0"}
COST_COLUMNS = tuple(each.name for each in fields(TrialCost))
STORE_COLUMNS = ("key", "label", "seed", "state", "reason", "scores", "overall", *COST_COLUMNS, "run")


class Store:
    def __init__(self, path: Path) -> None:
        self.path = path
        with self.connected() as database:
            database.executescript(STORE_TABLES)
            known = {row[1] for row in database.execute("pragma table_info(trials)")}
            for name, kind in ADDED_COLUMNS.items():
                if name not in known:
                    database.execute(f"alter table trials add column {name} {kind}")

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction: none is kept open for the hours of a trial."""
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_TIMEOUT)) as database:
                # a network disk cannot share memory between processes, and keeps its usual journal
                database.execute("pragma journal_mode = wal")
                database.execute("pragma synchronous = full")
                with database:
                    yield database
        except sqlite3.DatabaseError as wrong:
            damaged = "malformed" in str(wrong) or "not a database" in str(wrong)
            next_step = "Remove it: the same `minbert compare` makes it again from the run.json of each trial."
            raise UserError(f"{self.path}: {wrong}.", next_step if damaged else "") from None

    def put(self, result: TrialResult) -> None:
        """Insert or replace the row of a trial; when this returns, it is on the disk."""
        cost = dict.fromkeys(COST_COLUMNS) if result.cost is None else asdict(result.cost)
        row = {**asdict(result), **cost, "scores": json.dumps(result.scores)}
        names = ", ".join(STORE_COLUMNS)
        marks = ", ".join(f":{name}" for name in STORE_COLUMNS)
        with self.connected() as database:
            database.execute(f"insert or replace into trials ({names}) values ({marks})", row)

    def results(self) -> dict[str, TrialResult]:
        """All results, by key."""
        with self.connected() as database:
            rows = database.execute(f"select {', '.join(STORE_COLUMNS)} from trials").fetchall()
        return {row[0]: result_from_row(dict(zip(STORE_COLUMNS, row, strict=True))) for row in rows}


def result_from_row(row: dict[str, Any]) -> TrialResult:
    costs = {name: row.pop(name) for name in COST_COLUMNS}
    cost = None if costs["steps"] is None else TrialCost(**costs)
    return TrialResult(**row | {"scores": json.loads(row["scores"]), "cost": cost})
