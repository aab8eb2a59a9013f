"""Attests a file with a time stamp of a local authority: `openssl ts` behind a loopback port.

    python -m tools.demo_authority FOLDER FILE

Nothing leaves this machine. The root's certificate is left in FOLDER/root.pem for those who verify.
"""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

CONFIG = """
[tsa]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_chain = no
[ext]
extendedKeyUsage = critical,timeStamping
"""


def openssl(folder: Path, *arguments: str) -> None:
    """Run openssl in a folder."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def create_authority(folder: Path) -> None:
    """Create a root and a certificate for time stamps."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ts.cnf").write_text(CONFIG)
    (folder / "serial").write_text("01\n")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    root = ("req", "-x509", *key, "-keyout", "root.key", "-out", "root.pem", "-days", "30")
    openssl(folder, *root, "-subj", "/CN=Demo root")
    request = ("req", *key, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=Demo TSA")
    openssl(folder, *request)
    openssl(
        folder,
        *("x509", "-req", "-in", "tsa.csr", "-CA", "root.pem", "-CAkey", "root.key", "-days", "30"),
        *("-CAcreateserial", "-extfile", "ts.cnf", "-extensions", "ext", "-out", "tsa.pem"),
    )


def main(folder: Path, subject: str) -> int:
    """Start the authority, attest the file, and return the exit code of `affidavit attest`."""
    create_authority(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            (folder / "query.tsq").write_bytes(self.rfile.read(size))
            openssl(
                folder,
                *("ts", "-reply", "-config", "ts.cnf", "-section", "tsa"),
                *("-queryfile", "query.tsq", "-out", "answer.tsr"),
            )
            answer = (folder / "answer.tsr").read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *said: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        program = Path(sys.executable).with_name("affidavit")
        page = str(folder.parent / "verify.html")
        command = ["attest", subject, "--project", str(folder.parent), "--authority", url]
        command += ["--page", page]
        done = subprocess.run([program, *command], check=False)
        server.shutdown()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2]))
