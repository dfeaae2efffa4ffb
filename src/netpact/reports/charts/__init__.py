"""One kernel for all figures: axes, marks and legend become shapes, which are written as SVG, PDF or CSV."""
