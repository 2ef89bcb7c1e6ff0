"""How often do the statistics of a comparison find a difference, and how often one that is not there?"""
