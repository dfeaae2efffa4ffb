"""How a trained network becomes one of whole numbers: wiring, ranges, weights, and what the message says of them."""
