"""How different two colors look, also to color-blind people.

The simulation is that of Machado, Oliveira and Fernandes (2009) at full severity, in linear RGB; the distance is
CIEDE2000, as in Sharma, Wu and Dalal (2005).
"""

from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

Color = tuple[float, float, float]
SIMULATIONS = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
# sRGB to XYZ under D65
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def times(matrix: tuple[Color, Color, Color], color: Color) -> Color:
    x, y, z = (sum(a * b for a, b in zip(row, color, strict=True)) for row in matrix)
    return x, y, z


def linear(hexadecimal: str) -> Color:
    values = (int(hexadecimal[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
    return red, green, blue


def seen_as(hexadecimal: str, vision: str) -> Color:
    """The color in CIELAB, as somebody with this vision sees it."""
    red, green, blue = (min(1.0, max(0.0, v)) for v in times(SIMULATIONS[vision], linear(hexadecimal)))
    white = times(XYZ, (1.0, 1.0, 1.0))
    relative = [a / b for a, b in zip(times(XYZ, (red, green, blue)), white, strict=True)]
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in relative)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one: Color, other: Color) -> float:
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c = (hypot(a1, b1) + hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * sqrt(mean_c**7 / (mean_c**7 + 25**7))
    c1, c2 = hypot(a1 * stretch, b1), hypot(a2 * stretch, b2)
    h1, h2 = degrees(atan2(b1, a1 * stretch)) % 360, degrees(atan2(b2, a2 * stretch)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = h1 + turn / 2 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * cos(radians(hue - 30)) + 0.24 * cos(radians(2 * hue))
    t += 0.32 * cos(radians(3 * hue + 6)) - 0.2 * cos(radians(4 * hue - 63))
    d_light = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / sqrt(20 + (light - 50) ** 2))
    d_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    d_hue = 2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / (1 + 0.015 * chroma * t)
    rotation = -2 * sqrt(chroma**7 / (chroma**7 + 25**7)) * sin(radians(60 * exp(-(((hue % 360 - 275) / 25) ** 2))))
    return sqrt(d_light**2 + d_chroma**2 + d_hue**2 + rotation * d_chroma * d_hue)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    high, low = sorted((times(XYZ, linear(each))[1] for each in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
