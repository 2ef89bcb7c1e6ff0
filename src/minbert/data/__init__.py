"""Files -> batches of packed tokens; metrics."""
