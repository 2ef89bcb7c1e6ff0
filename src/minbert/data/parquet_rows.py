"""A parquet file -> its rows, some of them in memory at a time. A field of a struct is called `data.text`."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from minbert.data.column_request import DAMAGED, ColumnRequest, FileRow, check_columns
from minbert.errors import UserError

# rows decoded at once, and bytes of a column read at once
PARQUET_ROWS = 1024
BUFFER = 2**20


@contextmanager
def open_parquet(path: Path, bare: BinaryIO, gzipped: bool) -> Iterator[Any]:
    import pyarrow
    import pyarrow.parquet

    with tempfile.TemporaryFile() as unzipped:
        if gzipped:
            # its index is at its end and must be read first
            shutil.copyfileobj(bare, unzipped)
        try:
            # without a buffer, a column of a whole row group is in memory at once
            yield pyarrow.parquet.ParquetFile(unzipped if gzipped else path, buffer_size=BUFFER)
        except (pyarrow.ArrowException, OSError) as wrong:
            raise UserError(f"{path}: not a whole parquet file: {wrong}", DAMAGED) from None


def parquet_names(fields: Any, prefix: str = "") -> list[str]:
    """The names of all columns; those of a struct are its fields."""
    names = []
    for field in fields:
        inner = [field.type.field(i) for i in range(field.type.num_fields)] if is_struct(field.type) else []
        names += parquet_names(inner, f"{prefix}{field.name}.") if inner else [f"{prefix}{field.name}"]
    return names


def is_struct(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_struct(kind))


def parquet_rows(file: Any, request: ColumnRequest) -> Iterator[FileRow]:
    names = parquet_names(file.schema_arrow)
    # a struct as a whole is a column too, which holds no text
    check_columns(request.path, request.columns, [*names, *(set(file.schema_arrow.names) - set(names))])
    has_id = request.id_column in names
    wanted = list(dict.fromkeys([*request.columns, *([request.id_column] if has_id else [])]))
    row = 0
    for batch in file.iter_batches(PARQUET_ROWS, columns=wanted):
        values = {name: python_values(find_column(batch, name)) for name in wanted}
        ids = values.get(request.id_column, [None] * batch.num_rows)
        for picked in zip(*(values[name] for name in request.columns), ids, strict=True):
            row += 1
            yield row, list(picked)


def find_column(batch: Any, name: str) -> Any:
    """A column of a batch; `data.text` is a field of the struct `data`."""
    place = batch.schema.get_field_index(name)
    if place >= 0:
        return batch.column(place)
    head, *inner = name.split(".")
    column = batch.column(batch.schema.get_field_index(head))
    for part in inner:
        # flatten: where a struct is null, so are its fields
        column = column.flatten()[column.type.get_field_index(part)]
    return column


def python_values(column: Any) -> list[Any]:
    """A parquet column as Python values; bytes that are not UTF-8 become lone surrogates, as in text files."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raw = column.cast("binary").to_pylist()
        return [value if value is None else value.decode("utf-8", "surrogateescape") for value in raw]
