"""A program that runs the receiving processes of the service, and forks them again at every line.

It is started with the ports and the folder. Its children are one process group, so that a test can
kill the group, as the end of a machine would. Imports are done once, so that a start is fast.
"""

import os
import signal
import sys
from pathlib import Path

from affidavit.app.service import ServiceConfig
from affidavit.app.trace_receiving import ReceiverConfig, seal_until_stopped
from affidavit.web import application, otlp, otlp_grpc, server
from affidavit.web.settings import WebSettings

FORKED = (application, otlp, otlp_grpc)


def main() -> None:
    """Fork the processes whenever a line comes, and print the id of their group."""
    folder, project = Path(sys.argv[1]), Path(sys.argv[2])
    http, grpc = int(sys.argv[3]), int(sys.argv[4])
    receiver = ReceiverConfig(folder=folder, quiet_seconds=0.3, max_age_seconds=2.0)
    config = otlp_grpc.GrpcConfig(
        receiver=receiver,
        project=project,
        host="127.0.0.1",
        port=grpc,
        anonymous=True,
        key_rate=0,
        address_rate=0,
    )
    settings = WebSettings(key_rate=0, address_rate=0)
    factory = server.ApplicationFactory(
        ServiceConfig(project=project), settings, log_requests=False, otlp=receiver
    )

    def serve() -> None:
        listening = server.listen_at(server.ListenAddress("127.0.0.1", http))
        server.serve(factory, listening, workers=1, idle_seconds=5, shutdown_seconds=5)

    for _ in sys.stdin:
        group = 0
        for work in (
            serve,
            lambda: otlp_grpc.receive_until_stopped(config, os.getppid()),
            lambda: seal_until_stopped(receiver, True, os.getppid()),
        ):
            child = os.fork()
            if child == 0:
                os.setpgid(0, group)
                work()
                os._exit(0)
            group = group or child
            os.setpgid(child, group)
        sys.stdout.write(f"{group}\n")
        sys.stdout.flush()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)


if __name__ == "__main__":
    main()
