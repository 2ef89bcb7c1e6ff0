"""The shared encoder with the modules of each task."""
