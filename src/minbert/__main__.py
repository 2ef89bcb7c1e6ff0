"""`python -m minbert` is the command `minbert`."""

from minbert.cli import main

main()
