"""The addresses of a host, within the time that somebody waits."""

import ipaddress
import socket
from concurrent.futures import Future
from threading import Thread

from affidavit.http.outcome import NoAnswer, Stage, no_answer_from
from affidavit.http.patience import Patience


def looked_up(host: str, port: int, patience: Patience) -> tuple[str, ...] | NoAnswer:
    """Return the addresses of a host in the order in which they are to be tried.

    The work is done by a thread that is left behind when the time is over: a name server that
    does not answer cannot be interrupted.
    """
    if _is_address(host):
        return (host,)
    done: Future[tuple[str, ...]] = Future()
    Thread(target=_look_up, args=(host, port, done), name="affidavit-lookup", daemon=True).start()
    try:
        return done.result(patience.seconds_left())
    except (OSError, UnicodeError) as error:
        return no_answer_from(error, Stage.CONNECTING)


def _look_up(host: str, port: int, done: "Future[tuple[str, ...]]") -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        done.set_result(tuple(dict.fromkeys(str(entry[4][0]) for entry in found)))
    except Exception as error:  # Whatever it is, it is raised where somebody waits for it.
        done.set_exception(error)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
