"""The bare framework: the same server and socket, but a constant answer.

python -m benchmarks.service_bare PORT WORKERS
"""

import sys
from typing import Any

import uvicorn
from litestar import Litestar, Request, Response, post

from affidavit.web.server import ListenAddress, listen_at, serve_in_processes

ANSWER = b'{"said":"%s"}' % (b"x" * 7000)


@post("/v1/answer", status_code=200)
async def answer(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Read the body, and return a constant of the size of a receipt."""
    await request.body()
    return Response(ANSWER, media_type="application/json")


app = Litestar([answer], openapi_config=None, logging_config=None)


if __name__ == "__main__":
    port, workers = map(int, sys.argv[1:])
    config = uvicorn.Config(
        "benchmarks.service_bare:app",
        workers=workers,
        http="h11",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    with listen_at(ListenAddress("127.0.0.1", port)) as listening:
        serve_in_processes(config, listening)
