"""Li et al. 2020: Understanding generalization in deep learning via tensor methods."""
