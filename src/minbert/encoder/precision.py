"""(fp32, bf16 or auto; a device) -> the dtype that the encoder computes in.

Some virtual machines list bf16 units (AMX) that end the process with an illegal instruction, and some processors
multiply bf16 more slowly than fp32. So a child process tries matrix products first; the result is stored in the user's
cache folder for this processor and this version of torch.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import cast, get_args

import torch

from minbert.config.recipe import Precision
from minbert.errors import UserError
from minbert.files import write_json

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
# with one of these, bf16 products may be several times faster than fp32; without them, bf16 is emulated
BF16_UNITS = ("amx_bf16", "avx512_bf16", "bf16")
# bf16 is less precise, so it must be at least this much faster
MIN_BF16_SPEEDUP = 1.5
BF16_TEST_SECONDS = 120
BF16_TEST = """
import sys, time, torch

def speed(dtype):
    x, w = torch.ones(1024, 384, dtype=dtype), torch.ones(384, 1536, dtype=dtype)
    times = []
    for _ in range(12):
        began = time.perf_counter()
        x @ w
        times.append(time.perf_counter() - began)
    return 1 / min(times)

sys.stdout.write(str(speed(torch.bfloat16) / speed(torch.float32)))
"""


def best_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """The requested precision; for "auto" that of the variable MINBERT_PRECISION, or the fastest on this device."""
    if precision == "auto":
        precision = precision_from_environment()
    if precision == "auto":
        if device.type == "cuda":
            return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
        return torch.bfloat16 if has_bf16_units() and bf16_speed() >= MIN_BF16_SPEEDUP else torch.float32
    if precision == "bf16" and device.type == "cpu" and has_bf16_units() and bf16_speed() == 0:
        raise UserError(
            "This processor lists bf16 units that do not work: a bf16 product ends the process.",
            "Set precision to fp32, or try again with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment.",
        )
    return DTYPES[precision]


def precision_from_environment() -> Precision:
    wanted = os.environ.get("MINBERT_PRECISION") or "auto"
    if wanted not in get_args(Precision):
        raise UserError(f"MINBERT_PRECISION is '{wanted}'.", "Set it to fp32, bf16 or auto, or unset it.")
    return cast(Precision, wanted)


def has_bf16_units() -> bool:
    # torch before 2.10 has no such function
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(able.get(unit) for unit in BF16_UNITS)


@cache
def bf16_speed() -> float:
    """The speed of bf16 products on this processor relative to fp32; 0 if they end the process."""
    path = cache_folder() / f"bf16-{machine_key()}.json"
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["speed"])
    except (OSError, ValueError, KeyError, TypeError):
        speed = try_bf16()
    # without a cache folder it is measured again next time
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"speed": speed})
    return speed


def try_bf16(code: str = BF16_TEST) -> float:
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BF16_TEST_SECONDS)
        return round(float(done.stdout), 2) if done.returncode == 0 else 0.0
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0.0


def machine_key() -> str:
    """Depends on the processor, the system, torch, and the environment variables that limit instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    except OSError:
        processor = [platform.processor()]
    limits = [os.environ.get(name, "") for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")]
    parts = [*processor, platform.release(), torch.__version__, *limits]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minbert"
