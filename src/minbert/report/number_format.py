"""Numbers -> what people read. The minus is a real one, so that columns of numbers line up."""

import math
from collections.abc import Iterable

NOTHING = "–"


def fixed(x: float | None, places: int) -> str:
    if x is None or not math.isfinite(x):
        return NOTHING
    return f"{x:.{places}f}".replace("-", "−")


def signed(x: float | None, places: int) -> str:
    if x is None or not math.isfinite(x):
        return NOTHING
    return f"{x:+.{places}f}".replace("-", "−")


def between(low: float | None, high: float | None, places: int, sign: bool = False) -> str:
    """An interval; nothing where an end is missing."""
    if low is None or high is None:
        return ""
    shown = signed if sign else fixed
    return f"[{shown(low, places)}, {shown(high, places)}]"


def chance(p: float | None) -> str:
    """A p value: three decimals, and no claim beyond them."""
    if p is None or not math.isfinite(p):
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def percent(share: float | None, places: int = 0) -> str:
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{share * 100:.{places}f} %".replace("-", "−")


def seconds(x: float) -> str:
    if x < 60:
        return f"{x:.3g} s"
    return f"{x / 60:.1f} min" if x < 3600 else f"{x / 3600:.1f} h"


def amount(x: float) -> str:
    """1234567 -> 1.23 M; numbers of four digits are written out."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # 999.6 k is 1 M, not 1e+03 k
        if abs(x) >= max(unit, 1e4) * 0.9995:
            return f"{x / unit:#.3g}".rstrip(".") + f" {sign}"
    return f"{x:,.0f}"


def octets(x: float) -> str:
    """Bytes, in thousands as disks are sold: 91 MB."""
    for limit, sign in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if x >= limit * 0.9995:
            return f"{x / limit:#.3g}".rstrip(".") + f" {sign}"
    return f"{x:.0f} B"


def places(spreads: Iterable[float | None], fewest: int = 2, most: int = 4) -> int:
    """How many decimals a measure deserves: those that give its typical spread two digits."""
    known = sorted(spread for spread in spreads if spread is not None and math.isfinite(spread) and spread > 0)
    if not known:
        return 3
    typical = known[len(known) // 2]
    return min(most, max(fewest, 1 - math.floor(math.log10(typical))))
