"""How good are models trained with defaults? `make bench-quality`, or `python -m bench.quality --help`.

Ten public data sets, one backbone, the same number of threads and the same CPU budget for minbert and its peers.
`sets.py` cuts the data, `peers.py` and `ours.py` hold the systems, `schedule.py` runs each in a process of its own and
stores one JSON file per (system, set, seed), and `page.py` turns these files into docs/quality.md. No system sees the
dev rows before it predicts them.
"""
