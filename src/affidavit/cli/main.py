"""How `affidavit` begins: Ctrl-C ends it in one line from its first import on.

Nothing is imported above the functions but what the interpreter has imported by itself.
"""

import os
import sys

# As affidavit.base.faults.input.INTERRUPTED says it, which is not there yet.
_INTERRUPTED_MESSAGE = b"AF002: stopped by the user. Next: run the same command again\n"
_EXIT_UNKNOWN = 3


def main() -> None:
    """Run `affidavit` as its user sees it, and exit."""
    try:
        _run()
    except KeyboardInterrupt:
        _exit_interrupted()


def _run() -> None:
    import signal

    # A shell that starts us in the background has us ignore the signal: then it stays ignored.
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        # Not by an exception: what is being imported might catch it, or wrap it in its own.
        signal.signal(signal.SIGINT, _exit_interrupted)
    from affidavit.cli.program import cli

    _configure_streams()
    _ignore_write_only_stdin()
    if is_heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        cli.main()
    finally:
        if is_heeded:
            # All is said. Who stops the interpreter at its own end needs no traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _configure_streams() -> None:
    """Show no warnings of Python, and no letter that cannot be shown."""
    import warnings
    from io import TextIOWrapper

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for stream in (sys.stdout, sys.stderr):
        # A stream that was closed is None.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _ignore_write_only_stdin() -> None:
    """Take a standard input that is open for writing alone, as `nohup` gives it, for a closed one.

    Python takes it for one that can be read, until somebody reads.
    """
    try:
        import fcntl

        flags = fcntl.fcntl(0, fcntl.F_GETFL)
    except (ImportError, OSError):  # There is no such thing here, or it is closed already.
        return
    if flags & os.O_ACCMODE == os.O_WRONLY:
        sys.stdin = None


def _exit_interrupted(*_: object) -> None:
    """End at once: nothing is begun, so there is nothing to put in order."""
    try:
        os.write(2, _INTERRUPTED_MESSAGE)
    finally:
        os._exit(_EXIT_UNKNOWN)
