"""minbert from Python: `minbert.train`, `minbert.Run`, and estimators in scikit-learn's form."""
