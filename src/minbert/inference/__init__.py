"""A trained model -> predictions."""
