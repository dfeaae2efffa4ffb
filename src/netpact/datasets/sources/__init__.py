"""Data as people have them: folders of images, tables, memory-mapped arrays, data sets of Hugging Face."""
