"""The papers: each folder holds what is particular to one of them. What is general lives in the rooms below."""
