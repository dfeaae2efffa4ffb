"""How a trained network becomes an integer network: wiring, ranges, weights, and what the message says of them."""
