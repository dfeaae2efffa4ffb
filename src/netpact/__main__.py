"""python -m netpact: the same as the command."""

from netpact.cli.app import main

if __name__ == "__main__":
    main()
