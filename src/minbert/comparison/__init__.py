"""Recipes x seeds -> which is better, and how sure."""
