"""`make demo`: runs the commands of STEPS in order and shows each with its output.

The transcript and the files that the steps write are left in demo-output/.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "demo-output"
TRANSCRIPT = OUTPUT / "transcript.md"


@dataclass(frozen=True, slots=True)
class Step:
    """A command to show, with a title, a reason and the exit code that it must have."""

    title: str
    why: str
    command: tuple[str, ...]
    exit: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step."""

    step: Step
    output: str
    exit: int
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the step ended with the exit code that it should have."""
        return self.exit == self.step.exit


# To add a step, add an entry here. Commands run in the root of the repository.
STEPS: tuple[Step, ...] = (
    Step(
        "Which Affidavit is this?",
        "Every receipt and report names the version that made it.",
        ("affidavit", "--version"),
    ),
    Step(
        "What is installed, and does it work?",
        "`doctor` inspects the environment and says what to do about missing parts.",
        ("affidavit", "doctor"),
    ),
    Step(
        "What does this answer rest on?",
        "Four claims about leave, against a policy (PDF) and guidelines (DOCX). Two are supported,"
        " one says more than its source, one has no source. The answer must not ship.",
        (
            *("affidavit", "check", "samples/leave/answer.md"),
            *("--sources", "samples/leave/sources", "--project", "demo-output", "--expand", "3"),
        ),
        exit=1,
    ),
    Step(
        "A report for a browser",
        "One file that works offline. Open it and click a claim.",
        (
            *("affidavit", "sessions", "show", "last", "--project", "demo-output"),
            *("--format", "html", "--output", "demo-output/report.html"),
        ),
    ),
    Step(
        "A report for an auditor",
        "A PDF with a cover, the evidence of every claim, and the digests of all inputs.",
        (
            *("affidavit", "-q", "sessions", "show", "last", "--project", "demo-output"),
            *("--format", "pdf", "--output", "demo-output/report.pdf"),
        ),
    ),
    Step(
        "A key to sign with",
        "The issuer signs receipts. The private key stays in the project's folder.",
        ("affidavit", "keys", "new", "--project", "demo-output"),
    ),
    Step(
        "The same for many people",
        "A service takes the two documents, checks the answer in a worker process, and gives the"
        " report as a PDF. The store has the session of the command line, too.",
        ("python", "-m", "tools.demo_service"),
    ),
    Step(
        "Do the tools confirm what was said?",
        "Two tools are asked, one of them in two places. One check holds and one is contradicted,"
        " so the answer is contradicted. A signed receipt contains all the evidence.",
        (
            *("affidavit", "answer", "samples/answers/checks.json"),
            *("--tools", "samples/answers/affidavit.toml", "--project", "demo-output"),
            *("--anchor", "self", "--output", "demo-output/receipt.json"),
        ),
        exit=1,
    ),
    Step(
        "The public keys, for verifiers",
        "Verifiers get the keys and their lifecycle from the issuer, not with the receipt.",
        (
            *("affidavit", "keys", "export", "--registry", "--project", "demo-output"),
            *("--output", "demo-output/keys.json"),
        ),
    ),
    Step(
        "Is the receipt valid? Five steps, offline",
        "Anyone with the file and the keys can verify who signed it, that nothing was changed, and"
        " that the verdicts follow from the evidence.",
        ("affidavit", "verify", "demo-output/receipt.json", "--keys", "demo-output/keys.json"),
    ),
    Step(
        "A question that no tool covers",
        "It is refused, in a signed receipt. Nothing is guessed.",
        (
            *("affidavit", "answer", "--question", "Who is the chief executive?"),
            *("--tools", "samples/answers/affidavit.toml", "--project", "demo-output"),
            *("--output", "demo-output/refusal.json"),
        ),
        exit=3,
    ),
    Step(
        "A file that Ragas wrote without any gold: are its answers grounded?",
        "Every claim is judged against the contexts of its row, without a language model. An answer"
        " changes a number and one adds what no context says; both are shown with their passages.",
        ("affidavit", "gate", "rag", "samples/gates/ragas_contexts.csv", "--no-cache"),
        exit=1,
    ),
    Step(
        "A file that Ragas wrote: ship or not?",
        "One command reads it as it is, decides, and gives an interval for every figure. Three"
        " questions are too few to decide on citations, and the report says so.",
        ("affidavit", "gate", "rag", "samples/gates/ragas.csv", "--no-cache"),
        exit=1,
    ),
    Step(
        "All gates of a project, one decision",
        "Answers, latency, the agreement of two agents, repeated runs and research runs, from"
        " stored files alone; and one page with charts.",
        (
            *("affidavit", "gate", "all", "-c", "samples/gates/affidavit.toml"),
            *("--html", "demo-output/report-gates.html"),
        ),
        exit=1,
    ),
    Step(
        "Record what a run does",
        "A program of forty lines with `affidavit.record`: every call, passage, prompt and decision"
        " is on disk before the next one, so a crash loses nothing.",
        ("python", "samples/runs/record_run.py", "demo-output/run.jsonl"),
    ),
    Step(
        "Seal the run",
        "The log becomes one file. Everyone who seals it gets the same bytes.",
        (
            *("affidavit", "evidence", "seal", "demo-output/run.jsonl"),
            *("--pack", "cicd-starter", "--output", "demo-output/run.tar.gz"),
        ),
    ),
    Step(
        "Is the bundle what was sealed? Eight steps, offline",
        "Every line and every digest, and nothing else in the archive.",
        ("affidavit", "evidence", "verify", "demo-output/run.tar.gz"),
    ),
    Step(
        "Does it contain what an auditor asks for?",
        "Packs of rules over the events, and how much of the run could be replayed.",
        ("affidavit", "evidence", "lint", "demo-output/run.tar.gz"),
    ),
    Step(
        "Why is the closure score not 1?",
        "How the score adds up: what was found where, and what to record to raise it.",
        (
            *("affidavit", "evidence", "lint", "demo-output/run.tar.gz"),
            *("--explain", "closure.score"),
        ),
    ),
    Step(
        "How reliable is an agent? Twenty runs",
        "A small agent with a search over HTTP and a tool of an MCP server. One run in ten answers"
        " without asking the tool. pass^k is the chance that k runs all pass.",
        (
            *("affidavit", "sim", "soak", "-n", "20", "-j", "2", "--seed", "1"),
            *("--target", "python samples/agent/agent.py", "--pack", "cicd-starter"),
            *("--report", "demo-output/soak.json", "--html", "demo-output/soak.html"),
        ),
        exit=1,
    ),
    Step(
        "Attest the bundle",
        "A signed statement about it (DSSE, in-toto), with a time stamp of an authority that runs"
        " here: `openssl ts` behind a loopback port. No network is needed.",
        (
            *("python", "-m", "tools.demo_authority", "demo-output/authority"),
            "demo-output/run.tar.gz",
        ),
    ),
    Step(
        "A log that only grows",
        "Whoever keeps a checkpoint of it notices if it is rewritten.",
        (
            *("affidavit", "log", "init", "demo-output/log", "--origin", "example.org/demo"),
            *("--project", "demo-output", "--output", "demo-output/log.key"),
        ),
    ),
    Step(
        "Log the attestation",
        "The proof travels in the same file.",
        (
            *("affidavit", "log", "append", "demo-output/log", "--project", "demo-output"),
            "demo-output/run.tar.gz.dsse.json",
        ),
    ),
    Step(
        "Is the attestation to be believed? Nine steps, offline",
        "Signature, time, key and statement; and everything that it says is computed again.",
        (
            *("affidavit", "verify", "demo-output/run.tar.gz.dsse.json"),
            *("--keys", "demo-output/keys.json", "--tsa-roots", "demo-output/authority/root.pem"),
            *("--require-timestamp", "--log-key", "@demo-output/log.key"),
        ),
    ),
)


def run(step: Step) -> Outcome:
    """Run a step and keep its output."""
    programs = Path(sys.executable).parent
    # Steps start programs by name, too: `python agent.py` is the one that has Affidavit.
    path = os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))
    started = time.perf_counter()
    done = subprocess.run(
        [programs / step.command[0], *step.command[1:]],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(step, done.stdout.rstrip(), done.returncode, time.perf_counter() - started)


def styled(text: str, code: str) -> str:
    """Return text with a terminal style, if the output is a terminal."""
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\x1b[{code}m{text}\x1b[0m" if wanted else text


def show(number: int, count: int, outcome: Outcome) -> None:
    """Print a step with its output."""
    step = outcome.step
    print(styled(f"{number}/{count}  {step.title}", "1"))
    print(styled(f"     {step.why}", "2"))
    print(f"\n     {styled('$ ' + shlex.join(step.command), '36')}")
    for line in outcome.output.splitlines():
        print(f"     {line}".rstrip())
    if outcome.as_expected:
        print(styled(f"     exit {outcome.exit}, {outcome.seconds:.1f} s", "2"))
    else:
        print(styled(f"     exit {outcome.exit}, but {step.exit} was expected", "1;31"))
    print()


def transcript(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of the transcript."""
    yield "# Affidavit: the demo's transcript"
    for number, outcome in enumerate(outcomes, 1):
        step = outcome.step
        ending = f"Exit {outcome.exit}" + ("." if outcome.as_expected else f", not {step.exit}.")
        yield from ("", f"## {number}. {step.title}", "", step.why, "", "```console")
        yield from (
            f"$ {shlex.join(step.command)}",
            *outcome.output.splitlines(),
            "```",
            "",
            ending,
        )


def demonstrate(steps: Sequence[Step], report: Path) -> int:
    """Run the steps, write the transcript, and return how many did not end as expected."""
    outcomes = []
    for number, step in enumerate(steps, 1):
        outcomes.append(run(step))
        show(number, len(steps), outcomes[-1])
    report.parent.mkdir(exist_ok=True)
    report.write_text("\n".join(transcript(outcomes)) + "\n", "utf-8")
    surprises = sum(not outcome.as_expected for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    verdict = "all as expected" if not surprises else f"{surprises} not as expected"
    print(styled(f"{len(steps)} steps in {seconds:.1f} s, {verdict}.", "1"))
    print(f"Transcript: {os.path.relpath(report)}")
    for made in sorted(report.parent.glob("report*")):
        print(f"Report:     {os.path.relpath(made)}")
    for made in sorted(report.parent.glob("receipt.*")):
        print(f"Receipt:    {os.path.relpath(made)}")
    for made in sorted(report.parent.glob("verify.html")):
        print(f"Verify:     {made.as_uri()}")
    return surprises


if __name__ == "__main__":
    # A recording never writes over an earlier one.
    (OUTPUT / "run.jsonl").unlink(missing_ok=True)
    shutil.rmtree(OUTPUT / "log", ignore_errors=True)
    sys.exit(1 if demonstrate(STEPS, TRANSCRIPT) else 0)
