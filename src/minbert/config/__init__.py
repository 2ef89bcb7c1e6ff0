"""What users write: tasks and recipes."""
