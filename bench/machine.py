"""This machine: its name, its instruction sets, and the speed of its matrix products."""

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from bench.row import version_of
from minbert.encoder.precision import best_dtype

VNNI_UNITS = ("avx512_vnni", "avx_vnni", "amx_int8")
TELLING = ("avx2", "avx512_f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "neon", "bf16")
# seconds per product, and the minimum number of repetitions
SECONDS = 0.3
TIMES = 5

# (rows, inner, columns) of a matrix product
Product = tuple[int, int, int]


def capabilities() -> Mapping[str, Any]:
    # torch before 2.10 cannot report them
    able: Callable[[], Mapping[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    return able()


def has_bf16() -> bool:
    """Whether the processor multiplies bf16 faster than fp32; some list units whose use ends the process."""
    return best_dtype("auto", torch.device("cpu")) == torch.bfloat16


def has_vnni() -> bool:
    return any(capabilities().get(unit) for unit in VNNI_UNITS)


def processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe(threads: int) -> dict[str, Any]:
    side = [(1024, 1024, 1024)]
    return {
        "cpu": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "capabilities": [unit for unit in TELLING if capabilities().get(unit)],
        "versions": [version_of(name) for name in ("torch", "transformers", "sentence-transformers")],
        "fp32_gflops": round(best_rate(side, ("torch fp32", "numpy fp32"))[0], 1),
        "bf16_gflops": round(best_rate(side, ("torch bf16",))[0], 1) if has_bf16() else None,
    }


# ---- matrix products ----------------------------------------------------------------------------------


def multiply_torch(product: Product, dtype: torch.dtype) -> Callable[[], object]:
    rows, inner, columns = product
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(rows, inner, generator=generator).to(dtype)
    b = torch.randn(inner, columns, generator=generator).to(dtype)
    return lambda: a @ b


def multiply_numpy(product: Product) -> Callable[[], object]:
    rows, inner, columns = product
    random = np.random.default_rng(0)
    a = random.standard_normal((rows, inner), np.float32)
    b = random.standard_normal((inner, columns), np.float32)
    return lambda: a @ b


# two libraries for fp32, because neither is faster on every processor
MULTIPLIERS: dict[str, Callable[[Product], Callable[[], object]]] = {
    "torch fp32": lambda product: multiply_torch(product, torch.float32),
    "numpy fp32": multiply_numpy,
    "torch bf16": lambda product: multiply_torch(product, torch.bfloat16),
}


def usable() -> tuple[str, ...]:
    return tuple(name for name in MULTIPLIERS if has_bf16() or not name.endswith("bf16"))


def best_rate(products: Iterable[Product], names: Iterable[str], seconds: float = SECONDS) -> tuple[float, str]:
    """GFLOP/s over all products, each with its fastest library; and the library that is fastest most often."""
    names = tuple(names)
    work = spent = 0.0
    winners: list[str] = []
    for product in products:
        times = {name: typical_time(MULTIPLIERS[name](product), seconds) for name in names}
        fastest = min(times, key=lambda name: times[name])
        winners.append(fastest)
        rows, inner, columns = product
        work += 2 * rows * inner * columns
        spent += times[fastest]
    return work / spent / 1e9, max(set(winners), key=winners.count)


def typical_time(work: Callable[[], object], seconds: float) -> float:
    work()
    times: list[float] = []
    while len(times) < TIMES or sum(times) < seconds:
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return median(times)
