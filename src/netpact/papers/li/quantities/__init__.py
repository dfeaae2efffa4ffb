"""What Li et al. 2020 measure: rows that are measured where they are asked for, since every layer is decomposed."""
