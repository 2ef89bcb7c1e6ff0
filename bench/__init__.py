"""Benchmarks of minbert and its peers: `make bench`, or `python -m bench --help`.

Only `ours.py` (and the separate `techniques.py`) imports minbert; only `peers.py` and `backends.py` import the peers.
`training.py`, `inference.py`, `costs.py` and `matrix.py` define what is compared; `row.py` stores the results.
"""
