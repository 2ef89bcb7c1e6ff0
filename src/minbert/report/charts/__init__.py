"""One chart per file. Each is drawn for a given width, because a phone needs a different layout, not a smaller one."""

# in charts narrower than this, labels are above their marks
NARROW_BELOW = 500
