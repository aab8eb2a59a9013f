"""`affidavit log`: appending, proving, checking, cosigning, and what a killed process leaves."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run
from tests.cli.test_attest_command import ALICE, ATTESTED, BOB, place, verified

from affidavit.seal.bundle.merkle import EMPTY_ROOT
from affidavit.seal.transparency import LOG_SIGNATURE, note_key
from affidavit.store.tile_log import TileLog

__all__ = ["place"]  # The fixture of the attestations.
KEY = note_key("example.org/ai", LOG_SIGNATURE, ALICE.public.raw)
LOG_KEY = ("--log-key", KEY.text)


@pytest.fixture
def log(place: Path) -> Path:
    """A log with three entries, and the attestations that are in it."""
    for number in range(3):
        predicate = ("affidavit", "svr", "test-result")[number]
        options = ("--key", "alice.pem", "--predicate", predicate, "-o", f"{number}.json")
        assert run("attest", "run.tar.gz", *options).exit_code == 0
    files = ("--key", "alice.pem", "-o", "log.key")
    done = run("log", "init", "log", "--origin", "example.org/ai", *files)
    assert done.exit_code == 0, done.output
    assert KEY.text in done.stdout
    assert Path("log.key").read_text() == f"{KEY.text}\n"
    done = run("log", "append", "log", "0.json", "1.json", "2.json", "--key", "alice.pem")
    assert done.exit_code == 0, done.output
    return place / "log"


def test_the_proof_travels_with_the_attestation(log: Path) -> None:
    subject = ("--subject", "run.tar.gz", "-k", "alice.pub", *LOG_KEY)
    for number in range(3):
        code, found = verified(f"{number}.json", *subject)
        assert code == 0, found
        assert found["log"]["index"] == number
    other = note_key("example.org/ai", LOG_SIGNATURE, BOB.public.raw).text
    assert verified("0.json", *subject[:4], "--log-key", other)[0] == 1


def test_an_entry_is_appended_once(log: Path) -> None:
    done = run("log", "append", "log", "1.json", "1.json", "--key", "alice.pem", "--json")
    made = json.loads(done.stdout)
    assert made["log"]["size"] == 3
    assert [each["index"] for each in made["entries"]] == [1, 1]
    assert len(json.loads(Path("1.json").read_bytes())["x-affidavit"]["log_proofs"]) == 1


def test_a_proof_as_a_file_of_its_own(log: Path) -> None:
    done = run("log", "prove", "log", "1.json", *LOG_KEY, "-o", "1.tlog-proof")
    assert done.exit_code == 0, done.output
    assert run("verify", "1.tlog-proof", *LOG_KEY).stdout == (
        "1.tlog-proof: entry 1 of 3 in example.org/ai\n"
    )
    assert json.loads(run("verify", "1.tlog-proof", *LOG_KEY, "--json").stdout)["valid"]
    assert run("verify", "1.tlog-proof").exit_code == 2
    bare = json.loads(Path("1.json").read_bytes())
    del bare["x-affidavit"]
    Path("1.json").write_text(json.dumps(bare))
    trust = ("-k", "alice.pub", "--subject", "run.tar.gz", *LOG_KEY)
    assert verified("1.json", *trust)[0] == 3
    assert verified("1.json", *trust, "--proof", "1.tlog-proof")[0] == 0
    printed = run("log", "prove", "log", "1.json", *LOG_KEY).stdout
    assert printed.startswith("c2sp.org/tlog-proof@v1\n")
    text = Path("1.tlog-proof").read_text("utf-8").split("\n")
    Path("bare.tlog-proof").write_text("\n".join((text[0], *text[2:])), "utf-8")
    assert run("verify", "bare.tlog-proof", *LOG_KEY).stderr[:5] == "AF723"


def test_the_log_key_of_a_policy_is_beside_the_policy(log: Path) -> None:
    folder = log.parent / "policies"
    folder.mkdir()
    for name in ("log.key", "alice.pub"):
        Path(name).rename(folder / name)
    (folder / "release.toml").write_text(
        'version = 1\n[[keys]]\nfile = "alice.pub"\nroles = ["build"]\n'
        '[[roles]]\nname = "build"\nthreshold = 1\n[log]\nkeys = ["@log.key"]\n'
    )
    policy = ("--policy", "policies/release.toml", "--subject", "run.tar.gz")
    code, found = verified("0.json", *policy)
    assert (code, found["log"]["origin"]) == (0, "example.org/ai")


def test_what_is_not_in_the_log(log: Path) -> None:
    run("attest", "run.tar.gz", "--key", "bob.pem")
    done = run("log", "prove", "log", ATTESTED, *LOG_KEY)
    assert (done.exit_code, done.stderr[:5]) == (2, "AF728")


def test_a_whole_log(log: Path) -> None:
    done = run("log", "check", "log", "--log-key", "@log.key")
    assert done.exit_code == 0
    assert done.stdout.startswith("example.org/ai holds: 3 entries")


def test_a_rewritten_log_is_found(log: Path) -> None:
    shutil.copytree("log", "kept")
    shutil.copy("log/checkpoint", "old")
    entries = Path("log/tile/entries/000.p/3")
    raw = entries.read_bytes()
    for path, data in (
        (entries, raw.replace(b"payload_type", b"payload_tipe", 1)),
        (entries, raw[:-1]),
        (Path("log/tile/0/000.p/3"), bytes(96)),
        (Path("log/tile/0/000.p/3"), b""),
    ):
        path.write_bytes(data)
        done = run("log", "check", "log", *LOG_KEY)
        assert done.exit_code == (2 if data == raw[:-1] else 4), done.output
        shutil.rmtree("log")
        shutil.copytree("kept", "log")
    Path("log/tile/0/000.p/3").write_bytes(bytes(96))
    run("attest", "run.tar.gz", "--key", "bob.pem")
    done = run("log", "append", "log", ATTESTED, "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (4, "AF724")


def test_a_forked_log_is_found_by_whoever_kept_a_checkpoint(log: Path) -> None:
    shutil.copy("log/checkpoint", "old")
    shutil.rmtree("log")
    run("log", "init", "log", "--origin", "example.org/ai", "--key", "alice.pem")
    run("log", "append", "log", "2.json", "1.json", "0.json", "--key", "alice.pem")
    assert run("log", "check", "log", *LOG_KEY).exit_code == 0
    done = run("log", "check", "log", *LOG_KEY, "--since", "old")
    assert (done.exit_code, done.stderr[:5]) == (4, "AF724")
    shutil.rmtree("log")
    run("log", "init", "log", "--origin", "example.org/ai", "--key", "alice.pem")
    assert run("log", "check", "log", *LOG_KEY, "--since", "old").exit_code == 4


@pytest.fixture
def grown(log: Path) -> Path:
    """The same log with a fourth entry; `kept` is the checkpoint of the first three."""
    shutil.copy("log/checkpoint", "kept")
    made = run("attest", "run.tar.gz", "--key", "bob.pem", "-o", "3.json")
    assert made.exit_code == 0
    return log


ABOUT = ("-k", "alice.pub", "-k", "bob.pub", "--subject", "run.tar.gz", *LOG_KEY)


def test_the_proof_that_a_log_continues_travels_with_the_attestation(grown: Path) -> None:
    done = run("log", "append", "log", "3.json", "--key", "alice.pem", "--since", "kept")
    assert done.exit_code == 0, done.output
    shutil.rmtree("log")
    code, found = verified("3.json", *ABOUT, "--since", "kept")
    assert code == 0, found
    assert "continues the 3 that you saw" in found["steps"][4]["detail"]
    assert verified("3.json", *ABOUT)[0] == 0
    # A later signer makes another envelope, which has to be logged again.
    run("attest", "run.tar.gz", "--add", "--key", "alice.pem", "-o", "3.json")
    assert "x-affidavit" not in json.loads(Path("3.json").read_bytes())


def test_the_proof_that_a_log_continues_as_a_file(grown: Path) -> None:
    run("log", "append", "log", "3.json", "--key", "alice.pem")
    code, found = verified("3.json", *ABOUT, "--since", "kept")
    assert (code, found["error"]["name"]) == (3, "log.unproved")
    done = run("log", "prove", "log", "--since", "kept", *LOG_KEY, "-o", "continues")
    assert done.stdout == "kept is continued: its 3 entries are the first of the log\n"
    assert Path("continues").read_text("utf-8").startswith("old 3\n")
    kept = ("--since", "kept")
    assert verified("3.json", *ABOUT, *kept, "--proof", "continues")[0] == 0
    run("log", "prove", "log", "3.json", *LOG_KEY, "-o", "3.tlog-proof")
    alone = ("verify", "3.tlog-proof", *LOG_KEY, *kept)
    assert run(*alone).stderr[:5] == "AF731"
    assert run(*alone, "--proof", "continues").exit_code == 0
    done = run("verify", "continues", *LOG_KEY, *kept)
    assert done.stdout == ("continues: 4 entries of example.org/ai continue the 3 that you saw\n")
    assert json.loads(run("verify", "continues", *LOG_KEY, *kept, "--json").stdout)["valid"]
    assert run("verify", "continues", *LOG_KEY).stderr[:5] == "AF731"
    assert json.loads(run("log", "prove", "log", "--since", "kept", *LOG_KEY, "--json").stdout) == {
        "since": 3,
        "proof": Path("continues").read_text("utf-8"),
    }


def test_a_log_that_does_not_continue_is_found_without_the_log(grown: Path) -> None:
    """A keeper who rewrites the log can sign everything but what was seen before."""
    shutil.rmtree("log")
    files = ("--key", "alice.pem")
    run("log", "init", "log", "--origin", "example.org/ai", *files)
    run("log", "append", "log", "3.json", "1.json", "0.json", *files)
    code, found = verified("3.json", *ABOUT, "--since", "kept")
    assert (code, found["error"]["name"]) == (4, "log.consistency")
    assert run("log", "prove", "log", "--since", "kept", *LOG_KEY).stderr[:5] == "AF724"
    done = run("log", "append", "log", "2.json", *files, "--since", "kept")
    assert (done.exit_code, done.stderr[:5]) == (4, "AF724")


NO_CHECKPOINT = {
    "a checkpoint of another log": ("--log-key", "@other.key", "--since", "kept"),
    "what is no checkpoint": (*LOG_KEY, "--since", "alice.pub"),
    "a file that does not exist": (*LOG_KEY, "--since", "missing"),
    "no key of a log": ("--since", "kept"),
}


BAD_FILES = {
    "empty": (b"", "AF720: {}: "),
    "a binary": (bytes(range(128, 256)) * 9, "AF720: {}: "),
    "cut": (None, "AF720: {}: "),
    "another document": (b'{"payload": 1}', "AF720: {}: "),
    "a folder": (..., "AF012: {}: "),
}


@pytest.mark.parametrize(("content", "said"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_is_no_checkpoint_and_no_proof(grown: Path, content: Any, said: str) -> None:
    """What the user names has to count, so it is refused in one line that names the file."""
    run("log", "append", "log", "3.json", "--key", "alice.pem", "--since", "kept")
    run("log", "prove", "log", "--since", "kept", *LOG_KEY, "-o", "continues")
    for name, whole in (("bad.checkpoint", "kept"), ("bad.proof", "continues")):
        if content is ...:
            Path(name).mkdir()
        else:
            text = Path(whole).read_bytes()
            Path(name).write_bytes(text[: len(text) // 2] if content is None else content)
    seen = ("--since", "bad.checkpoint")
    for done in (
        run("log", "prove", "log", *seen, *LOG_KEY),
        run("log", "check", "log", *seen, *LOG_KEY),
        run("log", "append", "log", "0.json", *seen, "--key", "alice.pem"),
        run("verify", "3.json", *ABOUT, *seen),
    ):
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
        assert done.stderr.startswith(said.format("bad.checkpoint"))
    done = run("verify", "3.json", *ABOUT, "--since", "kept", "--proof", "bad.proof")
    assert done.exit_code == 2
    assert "Not readable: bad.proof: " in done.stdout
    assert run("verify", "3.json", *ABOUT, "--since", "kept").exit_code == 0


def test_a_subject_that_cannot_be_read_is_named(log: Path) -> None:
    Path("empty").write_bytes(b"")
    done = run("verify", "0.json", "-k", "alice.pub", "--subject", "empty")
    assert (done.exit_code, "Not readable: empty, line 1: " in done.stdout) == (2, True)


@pytest.mark.parametrize("options", NO_CHECKPOINT.values(), ids=NO_CHECKPOINT.keys())
def test_what_cannot_have_been_kept(grown: Path, options: tuple[str, ...]) -> None:
    other = note_key("example.org/other", LOG_SIGNATURE, ALICE.public.raw).text
    Path("other.key").write_text(other)
    done = run("verify", "0.json", "-k", "alice.pub", "--subject", "run.tar.gz", *options)
    assert done.exit_code in (1, 2)
    assert not done.stdout


def test_a_proof_is_of_an_entry_or_of_a_checkpoint(log: Path) -> None:
    assert run("log", "prove", "log", *LOG_KEY).exit_code == 2
    both = ("log", "prove", "log", "0.json", "--since", "log/checkpoint", *LOG_KEY)
    assert run(*both).exit_code == 2


def test_a_witness_cosigns_what_continues(log: Path) -> None:
    options = (*LOG_KEY, "--witness", "w.example", "--seen", "seen", "--key", "bob.pem")
    done = run("log", "cosign", "log", *options)
    assert done.exit_code == 0, done.output
    witness = done.stdout.rsplit("Key: ")[1].strip()
    run("attest", "run.tar.gz", "--key", "bob.pem")
    run("log", "append", "log", ATTESTED, "--key", "alice.pem")
    assert run("log", "cosign", "log", *options).exit_code == 0
    run("log", "append", "log", "0.json", "--key", "alice.pem")
    Path("policy.toml").write_text(
        'version = 1\n[[keys]]\nfile = "alice.pub"\nroles = ["a"]\n'
        f'[[roles]]\nname = "a"\nthreshold = 1\n[log]\nkeys = ["{KEY.text}"]\n'
        f'witnesses = ["{witness}"]\nwitness_threshold = 1\n'
    )
    policy = ("--policy", "policy.toml", "--subject", "run.tar.gz")
    code, found = verified("0.json", *policy)
    assert code == 0, found
    assert found["log"]["witnesses"] == ["w.example"]
    assert verified("1.json", *policy)[0] == 1
    shutil.rmtree("log")
    run("log", "init", "log", "--origin", "example.org/ai", "--key", "alice.pem")
    done = run("log", "cosign", "log", *options)
    assert (done.exit_code, done.stderr[:5]) == (4, "AF724")


def test_a_witness_does_not_compare_a_log_with_itself(log: Path) -> None:
    options = (*LOG_KEY, "--witness", "w.example", "--key", "bob.pem")
    done = run("log", "cosign", "log", *options, "--seen", "log/checkpoint")
    assert done.exit_code == 2
    assert "w.example" not in Path("log/checkpoint").read_text()


def test_a_sigstore_bundle_is_not_overwritten(log: Path) -> None:
    made = ("--key", "bob.pem", "-o", "bob.json", "--sigstore", "bob.sigstore.json")
    assert run("attest", "run.tar.gz", *made).exit_code == 0
    before = Path("bob.sigstore.json").read_bytes()
    done = run("log", "append", "log", "bob.json", "bob.sigstore.json", "--key", "alice.pem")
    assert (done.exit_code, done.stderr[:5]) == (2, "AF690")
    assert Path("bob.sigstore.json").read_bytes() == before
    assert "x-affidavit" not in json.loads(Path("bob.json").read_bytes())


def test_what_is_no_log(log: Path) -> None:
    witness = ("--witness", "w.example", "--seen", "seen", "--key", "bob.pem")
    for done in (
        run("log", "append", "none", "0.json", "--key", "alice.pem"),
        run("log", "check", "none", *LOG_KEY),
        run("log", "prove", "none", "0.json", *LOG_KEY),
        run("log", "cosign", "none", *LOG_KEY, *witness),
    ):
        assert (done.exit_code, done.stderr[:5]) == (2, "AF729")
        assert "affidavit log init" in done.stderr
    assert not Path("none").exists()
    again = run("log", "init", "log", "--origin", "example.org/ai", "--key", "alice.pem")
    assert again.stderr[:5] == "AF727"
    named = run("log", "init", "new", "--origin", "a b", "--key", "alice.pem")
    assert named.stderr[:5] == "AF720"
    assert run("log", "append", "log", "0.json", "--key", "bob.pem").stderr[:5] == "AF721"
    Path("log/checkpoint").write_text("x")
    assert run("log", "append", "log", "0.json", "--key", "alice.pem").stderr[:5] == "AF720"
    assert run("log", "check", "log", *LOG_KEY).exit_code == 1


APPENDING = """
import sys
from pathlib import Path
from affidavit.seal import crypto
from affidavit.seal.keys import signing_key_from
from affidavit.seal.transparency import LOG_SIGNATURE, note_key
from affidavit.store.tile_log import TileLog
key = signing_key_from(bytes(range(10, 42)))
log = TileLog(Path(sys.argv[1]), note_key("example.org/ai", LOG_SIGNATURE, key.public.raw))
number = int(sys.argv[2])
while True:
    entries = [b"%d" % at for at in range(number, number + 97)]
    log.append(entries, lambda message: crypto.sign(key.seed, message))
    number += len(entries)
    print(number, flush=True)
"""


def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """50 times: append without end, kill at some time, and check the whole log."""
    from affidavit.seal import crypto

    folder = tmp_path / "log"
    log = TileLog(folder, KEY)
    log.create(lambda message: crypto.sign(ALICE.seed, message))
    assert log.checkpoint()[1].root == EMPTY_ROOT
    size = 0
    for attempt in range(50):
        command = [sys.executable, "-c", APPENDING, str(folder), str(size)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            acknowledged = [int(process.stdout.readline())]
            time.sleep(attempt % 10 * 0.003)
            process.send_signal(signal.SIGKILL)
            acknowledged += map(int, process.stdout.read().split())
        _, checkpoint = TileLog(folder, KEY).check()
        assert checkpoint.size >= acknowledged[-1]
        entries = list(log.entries(checkpoint.size))
        assert entries == [b"%d" % at for at in range(checkpoint.size)]
        size = checkpoint.size
    assert size >= 50 * 97
