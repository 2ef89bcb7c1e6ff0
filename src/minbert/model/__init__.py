"""One encoder, and what each task adds to it."""
