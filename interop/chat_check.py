"""Checks a sample answer with a real, small model behind a real server, twice.

The model (135 million parameters) is too weak to judge; what is tried is the protocol: the run ends
with a code of the table, nothing that could not be read counts, and the second run asks nobody.
"""

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ANSWER = """\
Employees are entitled to 15 days of annual leave. Leave requests must be submitted 2 weeks in
advance. Maximum carryover is 5 days.
"""


def wait_for(address: str, seconds: float) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{address}/models", timeout=2).close()  # noqa: S310 - our own server on loopback
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit(f"no server at {address} after {seconds:g} s")


def check(project: Path, judge: Path) -> tuple[int, str, str]:
    """Run the check; return its exit code and both streams."""
    command = [
        *(sys.executable, "-m", "affidavit", "check", str(project / "answer.md")),
        *("--sources", str(ROOT / "samples" / "leave" / "sources"), "--top-k", "2"),
        *("--project", str(project), "--judge", str(judge), "--json"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def require(holds: bool, what: str, shown: object) -> None:
    """Exit if a condition does not hold."""
    if not holds:
        raise SystemExit(f"does not hold: {what}\n{shown}")
    print(f"holds: {what}")


def counted(reading: dict[str, object]) -> bool:
    """Tell whether a reading counts for or against a claim."""
    return bool(reading["contradicts"]) or reading["support_level"] != "none"


def main(address: str, folder: str) -> None:
    """Check twice and compare the results."""
    project = Path(folder)
    wait_for(address, 120)
    (project / "answer.md").write_text(ANSWER, "utf-8")
    judge = project / "judge.toml"
    judge.write_text(
        f'[chat]\nbase_url = "{address}"\nmodel = "smollm2"\ntimeout_s = 300\nretries = 1\n'
        "max_output_tokens = 200\n",
        "utf-8",
    )
    code, out, err = check(project, judge)
    require(code in range(5), f"the run ends with a code of the table ({code})", err)
    print(err.strip())
    again, out_again, err_again = check(project, judge)
    require("judge: 0 requests" in err_again, "the second run asks nobody", err_again)
    require(again == code, "the second run ends like the first", err_again)
    if code > 1:
        require("AF260" in err, "a run without a ledger says that no reply could be read", err)
        return
    ledger = json.loads(out)
    require(ledger["judge"]["name"] == "chat", "the ledger names the judge", ledger["judge"])
    require(ledger["judge"]["rederivable"] is False, "and marks it", ledger["judge"])
    readings = [reading for entry in ledger["entries"] for reading in entry["readings"]]
    require(bool(readings), f"there are readings ({len(readings)})", out)
    void = [each for each in readings if {"unreadable", "refused"} & set(each["scores"])]
    require(not any(map(counted, void)), f"none of {len(void)} void replies counts", void)
    bare = [each for each in readings if counted(each) and not each["snippet"]]
    require(not bare, "nothing counts without its quote", bare)
    same = [entry["verdict"] for entry in json.loads(out_again)["entries"]]
    require(same == [entry["verdict"] for entry in ledger["entries"]], "same verdicts", same)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
