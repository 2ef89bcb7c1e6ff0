"""minbert and its peers, measured side by side: `make bench`, or `python -m bench --help`.

`ours.py` is the only file that knows minbert, `peers.py` and `backends.py` the only ones that know the peers.
`training.py`, `inference.py`, `costs.py` and `matrix.py` say what is compared; `row.py` keeps the results.
"""
