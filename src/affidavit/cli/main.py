"""The entry point of `affidavit`; Ctrl-C ends it with one line even during the first imports.

The module imports only what the interpreter has already imported.
"""

import os
import sys

# The text of affidavit.base.faults.input.INTERRUPTED, which is not imported yet.
_INTERRUPTED_MESSAGE = b"AF002: stopped by the user. Next: run the same command again\n"
_EXIT_UNKNOWN = 3


def main() -> None:
    """Run `affidavit` and exit."""
    try:
        _run()
    except KeyboardInterrupt:
        _exit_interrupted()


def _run() -> None:
    import signal

    # A shell that starts a background process makes it ignore the signal; then it stays ignored.
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        # Not by an exception, which a module being imported might catch or wrap.
        signal.signal(signal.SIGINT, _exit_interrupted)
    from affidavit.cli.program import cli

    _configure_streams()
    _ignore_write_only_stdin()
    if is_handled:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        cli.main()
    finally:
        if is_handled:
            # The output is complete; Ctrl-C during interpreter shutdown needs no traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _configure_streams() -> None:
    """Hide Python warnings, and escape letters that the streams cannot encode."""
    import warnings
    from io import TextIOWrapper

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for stream in (sys.stdout, sys.stderr):
        # A closed stream is None.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _ignore_write_only_stdin() -> None:
    """Treat a write-only standard input (nohup) as closed.

    Python treats it as readable until it is read.
    """
    try:
        import fcntl

        flags = fcntl.fcntl(0, fcntl.F_GETFL)
    except (ImportError, OSError):  # Not available on this system, or closed already.
        return
    if flags & os.O_ACCMODE == os.O_WRONLY:
        sys.stdin = None


def _exit_interrupted(*_: object) -> None:
    """Exit at once; nothing has started that needs cleaning up."""
    try:
        os.write(2, _INTERRUPTED_MESSAGE)
    finally:
        os._exit(_EXIT_UNKNOWN)
