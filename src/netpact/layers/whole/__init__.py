"""Integer layers, and the account that shows a network of them to be exact for every input.

They stand among the layers: a decoder refuses what may be too large, and needs nothing of what looks at networks.
"""
