"""sentence-transformers with each engine that can run it here: torch, ONNX Runtime, OpenVINO.

Its own backend="onnx" and backend="openvino" load models through optimum, which cannot always be installed together
with the current transformers. This module does the same without optimum: the exported model replaces the transformers
model inside sentence-transformers, which still tokenizes, sorts, batches, pools and normalizes.
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
    """Another engine in place of the transformers model."""

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
    """all-MiniLM as published, with mean pooling and normalized vectors; on torch or on another engine."""
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
    """Every other engine by name, created when called, if it is available. `texts` calibrate int8."""

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
        return onnx_backend(folder, "ONNX int8", quantize_onnx(fused(), work / "model-int8.onnx"), threads)

    def openvino() -> Backend:
        need("openvino")
        return openvino_backend(folder, "OpenVINO", exported(), threads)

    def openvino_int8() -> Backend:
        if not texts:
            raise CannotMeasure("calibration takes too long for quick sizes")
        need("openvino", "nncf")
        path = quantize_openvino(folder, exported(), work / "model-int8.xml", texts)
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
            # eager, not one fused operation, so that the engines recognize attention and fuse it themselves
            self.bert = AutoModel.from_pretrained(str(folder), attn_implementation="eager").eval()

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
            return self.bert(**inputs).last_hidden_state  # type: ignore[no-any-return]

    path.parent.mkdir(parents=True, exist_ok=True)
    ids, mask, segments = torch.ones(3, 2, 9, dtype=torch.long)
    # with some padding, because a mask of ones only would be dropped from the exported model
    mask[1, 5:] = 0
    dynamic = {0: "sentences", 1: "tokens"}
    torch.onnx.export(
        LastLayer().eval(),
        (ids, mask, segments),
        str(path),
        input_names=list(INPUTS),
        output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys((*INPUTS, "last_hidden_state"), dynamic),
        # like optimum, use the older exporter: ONNX Runtime fuses the form in which it writes attention
        dynamo=False,
    )
    return path


def fuse(folder: Path, source: Path, target: Path) -> Path:
    """ONNX Runtime's optimization for BERT, as in export_optimized_onnx_model of sentence-transformers."""
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(str(folder))
    heads, width = config.num_attention_heads, config.hidden_size
    optimize_model(str(source), "bert", num_heads=heads, hidden_size=width).save_model_to_file(str(target))
    return target


def quantize_onnx(source: Path, target: Path) -> Path:
    """Weights and activations as 8-bit integers, with ranges found during inference (dynamic quantization)."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # without VNNI, products of signed weights overflow 16 bits; unsigned weights are exact
    kind = QuantType.QInt8 if has_vnni() else QuantType.QUInt8
    # types are not inferred through fused operations
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

        # OpenVINO chooses the precision: bf16 if the processor supports it
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        compiled = openvino.Core().compile_model(str(path), "CPU", settings)

        def run(inputs: dict[str, Tensor]) -> Tensor:
            # copied, because the next request overwrites this result
            return torch.from_numpy(compiled({key: value.numpy() for key, value in inputs.items()})[0].copy())

        return run

    return Backend(name, version_of("openvino"), lambda: sentence_transformer(folder, load_engine))


def quantize_openvino(folder: Path, source: Path, target: Path, texts: list[str]) -> Path:
    """8-bit integers with ranges from real sentences, as in export_static_quantized_openvino_model."""
    import nncf
    import openvino
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))

    def inputs(text: str) -> dict[str, Any]:
        return dict(tokenizer(text, truncation=True, max_length=MAX_LENGTH, return_tensors="np"))

    nncf.set_log_level(logging.ERROR)
    model = openvino.Core().read_model(str(source))
    with contextlib.redirect_stdout(io.StringIO()):  # its progress bars
        quantized = nncf.quantize(
            model, nncf.Dataset(texts, inputs), subset_size=len(texts), model_type=nncf.ModelType.TRANSFORMER
        )
    openvino.save_model(quantized, str(target), compress_to_fp16=False)
    return target
