"""sentence-transformers by each engine that can run it here: torch, ONNX Runtime, OpenVINO.

Its own backend="onnx" and backend="openvino" load their models through optimum. Where optimum does not install
beside the current transformers, the same is done here without it: the exported model takes the place of
transformers' inside sentence-transformers, which still tokenizes, sorts, batches, pools and normalizes.
"""

import contextlib
import io
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.machine import has_bf16, has_vnni
from bench.peers import need
from bench.row import CannotMeasure, version_of

MAX_LENGTH = 256
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
Run = Callable[[dict[str, Tensor]], Tensor]


@dataclass(frozen=True)
class Backend:
    name: str
    version: str
    # a fresh SentenceTransformer from the files on the disk
    load: Callable[[], Any]


class Foreign(torch.nn.Module):
    """Another engine in the place of transformers' model."""

    def __init__(self, config: Any, run: Run) -> None:
        super().__init__()
        self.config = config
        self.run = run

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, return_dict: bool = True
    ) -> dict[str, Tensor]:
        inputs = dict(zip(INPUTS, (input_ids, attention_mask, token_type_ids), strict=True))
        return {"last_hidden_state": self.run(inputs)}


def sentence_transformer(folder: Path, load_engine: Callable[[], Run] | None = None, **model_kwargs: Any) -> Any:
    """all-MiniLM as it is published: mean of the tokens, length 1; on torch, or on another engine."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    class OnEngine(Transformer):  # type: ignore[misc]
        def _load_model(self, path: str, task: str, config: Any, *rest: Any, **settings: Any) -> Any:
            if load_engine is None:
                return super()._load_model(path, task, config, *rest, **settings)
            return Foreign(config, load_engine())

    reads = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
    words = OnEngine(
        str(folder),
        max_seq_length=MAX_LENGTH,
        model_kwargs=model_kwargs,
        modality_config=reads,
        module_output_name="token_embeddings",
    )
    pooling = Pooling(words.get_embedding_dimension(), "mean")
    return SentenceTransformer(modules=[words, pooling, Normalize()], device="cpu")


def default(folder: Path) -> Backend:
    need("sentence_transformers")
    return Backend("torch fp32", version_of("torch"), lambda: sentence_transformer(folder))


def others(folder: Path, work: Path, threads: int, texts: list[str]) -> dict[str, Callable[[], Backend]]:
    """Every other engine by name, each made when it is called, if it can be had. `texts` calibrate int8."""

    @cache
    def exported() -> Path:
        need("onnx")
        return export(folder, work / "model.onnx")

    @cache
    def fused() -> Path:
        need("onnxruntime")
        return fuse(folder, exported(), work / "model-fused.onnx")

    def torch_bf16() -> Backend:
        if not has_bf16():
            raise CannotMeasure("this processor has no bf16 units")
        return Backend("torch bf16", version_of("torch"), lambda: sentence_transformer(folder, dtype=torch.bfloat16))

    def onnx_int8() -> Backend:
        return onnx_backend(folder, "ONNX int8", quantise(fused(), work / "model-int8.onnx"), threads)

    def openvino() -> Backend:
        need("openvino")
        return openvino_backend(folder, "OpenVINO", exported(), threads)

    def openvino_int8() -> Backend:
        if not texts:
            raise CannotMeasure("calibrating it takes too long for quick sizes")
        need("openvino", "nncf")
        path = quantise_openvino(folder, exported(), work / "model-int8.xml", texts)
        return openvino_backend(folder, "OpenVINO int8", path, threads)

    return {
        "torch bf16": torch_bf16,
        "ONNX fp32": lambda: onnx_backend(folder, "ONNX fp32", fused(), threads),
        "ONNX int8": onnx_int8,
        "OpenVINO": openvino,
        "OpenVINO int8": openvino_int8,
    }


# ---- ONNX Runtime -------------------------------------------------------------------------------------


def export(folder: Path, path: Path) -> Path:
    """The encoder as an ONNX file, for any batch size and length."""
    from transformers import AutoModel

    class LastLayer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # written out rather than as one operation, so that the engines find attention and fuse it themselves
            self.bert = AutoModel.from_pretrained(str(folder), attn_implementation="eager").eval()

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
            return self.bert(**inputs).last_hidden_state  # type: ignore[no-any-return]

    path.parent.mkdir(parents=True, exist_ok=True)
    ids, mask, segments = torch.ones(3, 2, 9, dtype=torch.long)
    # with padding in sight: a mask of ones alone would be left out of the exported model
    mask[1, 5:] = 0
    free = {0: "sentences", 1: "tokens"}
    torch.onnx.export(
        LastLayer().eval(),
        (ids, mask, segments),
        str(path),
        input_names=list(INPUTS),
        output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys((*INPUTS, "last_hidden_state"), free),
        # the older exporter writes attention in the form that ONNX Runtime fuses, as optimum does
        dynamo=False,
    )
    return path


def fuse(folder: Path, source: Path, target: Path) -> Path:
    """ONNX Runtime's own optimization of a BERT, as sentence-transformers' export_optimized_onnx_model asks for it."""
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(str(folder))
    heads, width = config.num_attention_heads, config.hidden_size
    optimize_model(str(source), "bert", num_heads=heads, hidden_size=width).save_model_to_file(str(target))
    return target


def quantise(source: Path, target: Path) -> Path:
    """Weights and activations as 8-bit whole numbers, ranges found while answering."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # without VNNI, products of signed weights overflow 16 bits: unsigned ones are exact
    kind = QuantType.QInt8 if has_vnni() else QuantType.QUInt8
    # the types behind a fused operation are not inferred
    known = {"DefaultTensorType": TensorProto.FLOAT}
    quantize_dynamic(str(source), str(target), per_channel=True, weight_type=kind, extra_options=known)
    return target


def onnx_backend(folder: Path, name: str, path: Path, threads: int) -> Backend:
    def load_engine() -> Run:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

        def run(inputs: dict[str, Tensor]) -> Tensor:
            return torch.from_numpy(session.run(None, {key: value.numpy() for key, value in inputs.items()})[0])

        return run

    return Backend(name, version_of("onnxruntime"), lambda: sentence_transformer(folder, load_engine))


# ---- OpenVINO -----------------------------------------------------------------------------------------


def openvino_backend(folder: Path, name: str, path: Path, threads: int) -> Backend:
    def load_engine() -> Run:
        import openvino

        # the precision is OpenVINO's own choice: bf16 where the processor has it
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        compiled = openvino.Core().compile_model(str(path), "CPU", settings)

        def run(inputs: dict[str, Tensor]) -> Tensor:
            # a copy: the next request writes over the result of this one
            return torch.from_numpy(compiled({key: value.numpy() for key, value in inputs.items()})[0].copy())

        return run

    return Backend(name, version_of("openvino"), lambda: sentence_transformer(folder, load_engine))


def quantise_openvino(folder: Path, source: Path, target: Path, texts: list[str]) -> Path:
    """8-bit whole numbers with ranges from real sentences, as export_static_quantized_openvino_model does it."""
    import nncf
    import openvino
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))

    def inputs(text: str) -> dict[str, Any]:
        return dict(tokenizer(text, truncation=True, max_length=MAX_LENGTH, return_tensors="np"))

    nncf.set_log_level(logging.ERROR)
    model = openvino.Core().read_model(str(source))
    with contextlib.redirect_stdout(io.StringIO()):  # its progress bars
        quantised = nncf.quantize(
            model, nncf.Dataset(texts, inputs), subset_size=len(texts), model_type=nncf.ModelType.TRANSFORMER
        )
    openvino.save_model(quantised, str(target), compress_to_fp16=False)
    return target
