"""A trained model -> predictions and vectors, for texts and for files."""
