"""Numbers -> text for people. The minus sign is U+2212, so that columns of numbers line up."""

import math
from collections.abc import Iterable

NO_VALUE = "–"


def fixed(x: float | None, decimals: int) -> str:
    if x is None or not math.isfinite(x):
        return NO_VALUE
    return f"{x:.{decimals}f}".replace("-", "−")


def signed(x: float | None, decimals: int) -> str:
    if x is None or not math.isfinite(x):
        return NO_VALUE
    return f"{x:+.{decimals}f}".replace("-", "−")


def interval_text(low: float | None, high: float | None, decimals: int, sign: bool = False) -> str:
    """[low, high]; empty if an end is missing."""
    if low is None or high is None:
        return ""
    write = signed if sign else fixed
    return f"[{write(low, decimals)}, {write(high, decimals)}]"


def p_value(p: float | None) -> str:
    """Three decimals, and no claim beyond them."""
    if p is None or not math.isfinite(p):
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def percentage(fraction: float | None, decimals: int = 0) -> str:
    if fraction is None or not math.isfinite(fraction):
        return NO_VALUE
    return f"{fraction * 100:.{decimals}f} %".replace("-", "−")


def duration_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def short_count(x: float) -> str:
    """1234567 -> 1.23 M; numbers of up to four digits are written in full."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 999.6 k is 1 M, not 1e+03 k
        if abs(x) >= max(unit, 1e4) * 0.9995:
            return f"{x / unit:#.3g}".rstrip(".") + f" {sign}"
    return f"{x:,.0f}"


def byte_size(x: float) -> str:
    """In powers of 1000: 91 MB."""
    for limit, sign in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if x >= limit * 0.9995:
            return f"{x / limit:#.3g}".rstrip(".") + f" {sign}"
    return f"{x:.0f} B"


def decimals_for(standard_errors: Iterable[float | None], most: int = 4) -> int:
    """As many decimals as the typical standard error supports: the last one is its first digit.

    0.76 ± 0.012 is 0.76: a third decimal would only be noise. This is the rule of the page, Markdown and the terminal.
    """
    known = sorted(error for error in standard_errors if error is not None and math.isfinite(error) and error > 0)
    if not known:
        return 3
    typical = known[len(known) // 2]
    return min(most, max(0, -math.floor(math.log10(typical))))
