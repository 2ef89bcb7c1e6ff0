"""Charts of plain numbers, one a file, each drawn for a width: a phone needs another layout, not a smaller one."""

# below this width, labels stand above their marks
NARROW = 500
