"""What every room uses: errors, argument checks, files, seeds, progress, version."""
