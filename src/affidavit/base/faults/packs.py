"""AF650 to AF679: packs, lint, explanations and replay of bundles."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

PACK_FIELD = Fault(
    "AF650",
    "pack.field",
    "{problem}",
    "correct it{place}; docs/packs.md lists every field of a pack",
)
PACK_UNKNOWN_KEY = Fault(
    "AF651",
    "pack.unknown_key",
    "no key of {holder} is called {key!r}",
    "correct it{place}: {advice}",
)
PACK_SIGNAL = Fault(
    "AF652",
    "pack.signal",
    "the registry of signals knows no {signal!r}",
    "correct it{place}: {advice}",
)
PACK_DISCLAIMER = Fault(
    "AF653",
    "pack.disclaimer",
    "a compliance pack has to say what it does not promise, and this one has no disclaimer",
    "add the key disclaimer with a text that every report will show",
)
PACK_RULE_TWICE = Fault(
    "AF654",
    "pack.rule_twice",
    "the rule {rule!r} stands twice in the pack {pack!r}",
    "give one of the two another id",
)
PACK_COLLISION = Fault(
    "AF655",
    "pack.collision",
    "the rule {rule} is in two packs: {first} and {second}",
    "name one of the two packs, or change the version of one; nothing was run",
)
PACK_VERSION = Fault(
    "AF656",
    "pack.version",
    "the pack {pack!r} needs {wanted}, and this is {found}",
    "use a pack that is written for this version, or a newer affidavit",
)
PACK_NOT_FOUND = Fault(
    "AF657",
    "pack.not_found",
    "there is no pack called {name!r}",
    "{advice}",
)
PACK_FOLDER = Fault(
    "AF658",
    "pack.folder",
    "this folder holds no pack.yaml",
    "name the file of the pack, or a folder with a pack.yaml in it",
)
PACK_OUTSIDE = Fault(
    "AF659",
    "pack.outside",
    "the pack {name!r} leads out of the folder of packs",
    "put the file itself there, or name it by its path",
)
PACK_EXISTS = Fault(
    "AF660",
    "pack.exists",
    "there is a file already, and it is not overwritten",
    "choose another name with --output",
)
EXPLAIN_UNKNOWN = Fault(
    "AF661",
    "explain.unknown",
    "there is nothing called {name!r} to explain",
    "{advice}",
)
EXPLAIN_AMBIGUOUS = Fault(
    "AF662",
    "explain.ambiguous",
    "{name!r} is a rule of several packs",
    "write one of: {choices}",
)
EXPLAIN_MANY = Fault(
    "AF663",
    "explain.many",
    "one bundle can be explained at a time, and {count} were given",
    "name one of them",
)
BUNDLES_NONE = Fault(
    "AF664",
    "bundles.none",
    "there was no bundle to lint",
    "name a bundle, or a folder with files that end in .tar.gz or .tgz",
    Exit.UNKNOWN,
)
REPLAY_REPORT = Fault(
    "AF665",
    "replay.report",
    "this is no lint report of the form {known}",
    "name a file that `affidavit evidence lint --report` wrote",
)
