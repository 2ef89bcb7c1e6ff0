"""The format in which the graders of Stanford's CS 224N read predictions, `id , prediction `: for its tasks only."""

from collections.abc import Sequence

from minbert.data.dataset import Dataset
from minbert.data.metrics import predicted_classes
from minbert.errors import UserError
from minbert.inference.formats import OutputFormat
from minbert.inference.output_columns import OutputColumn
from minbert.inference.task_predictions import TaskPredictions

# (kind, text columns, label) of the course's tasks -> the header of its prediction files, spelling included
COURSE_HEADERS = {
    ("classify", ("sentence",), "sentiment"): "Predicted_Sentiment",
    ("classify", ("sentence1", "sentence2"), "is_duplicate"): "Predicted_Is_Paraphrase",
    ("score", ("sentence1", "sentence2"), "similarity"): "Predicted_Similiary",
}


class CourseFormat(OutputFormat):
    def columns(
        self, text_names: Sequence[str], dataset: Dataset, predictions: Sequence[TaskPredictions]
    ) -> list[OutputColumn]:
        """The id, and the prediction under the course's name for it."""
        if len(predictions) > 1:
            raise UserError("The course's format holds the predictions of one task.", "Name one task.")
        (only,) = predictions
        task, values = only.task, only.values
        header = COURSE_HEADERS.get((task.kind, task.text, task.label))
        if header is None or task.label_keys != tuple(str(i) for i in range(len(task.labels))):
            raise UserError(
                f"The course's format is for its own tasks; task '{task.name}' is none of them.",
                "Omit --format: the ending of --output says the format.",
            )
        if task.kind == "score":
            written = [str(score) for score in values]
        else:
            written = [task.label_keys[i] for i in predicted_classes(values, task.threshold)]
            if task.paired:  # the course rounds a sigmoid, so it writes a float
                written = [f"{label}.0" for label in written]
        return [OutputColumn("id", "text", dataset.ids), OutputColumn(header, "text", written)]

    def header(self, columns: Sequence[OutputColumn]) -> bytes:
        return f"id \t {columns[1].name} \n".encode()

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        ids, written = (column.values for column in columns)
        return "".join(f"{name} , {value} \n" for name, value in zip(ids, written, strict=True)).encode("utf-8")
