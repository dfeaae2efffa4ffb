"""The netpact command from its first moment on: an interrupt ends it with an exit code and never with a traceback.

What takes time to import is imported inside the functions, where an interrupt is waited for.
"""

from __future__ import annotations

import sys

FINE, REFUSED, BAD_INPUT, CONTRADICTED, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 4, 130
NOTHING_KEPT = "interrupted; nothing was written"


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    from netpact.cli.dispatch import run as dispatch

    return dispatch(arguments)


def main() -> None:
    noted: list[int] = []

    def interrupt(number: int, _: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    try:
        import signal  # not above: what is imported before this point has nobody who would catch an interrupt

        signal.signal(signal.SIGINT, interrupt)
        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the way out is not to be interrupted
    except BaseException as error:
        # Libraries in C that are interrupted while they are imported make other errors of it.
        if isinstance(error, SystemExit) or not (noted or isinstance(error, KeyboardInterrupt)):
            raise
        sys.stderr.write(f"{NOTHING_KEPT}\n")
        code = INTERRUPTED
    sys.exit(code)
