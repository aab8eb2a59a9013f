"""AF760 to AF789: soak, surface and merge."""

from affidavit.base.errors import Fault
from affidavit.base.exits import Exit

SOAK_TARGET = Fault(
    "AF760",
    "soak.target",
    "the target {target!r} cannot be run: {problem}",
    "give a command, an http(s) address, module:function, a bundle, or a folder of bundles",
)
SOAK_UNTIL = Fault(
    "AF761",
    "soak.until",
    "{text!r} is not a bound on the pass rate",
    "write a rate and a confidence in percent, such as 0.95@95",
)
SOAK_NOT_JUDGED = Fault(
    "AF762",
    "soak.not_judged",
    "none of {runs} runs could be judged, so there is no report: {problem}",
    "see {details}, and mend the target or its limits",
    Exit.UNKNOWN,
)
SOAK_RESUME = Fault(
    "AF763",
    "soak.resume",
    "the recorded trials are of another soak: {problem}",
    "run it with the same options, or give --report another name",
)
SOAK_RECORDED = Fault(
    "AF764",
    "soak.recorded",
    "an unfinished soak is recorded here",
    "go on with --resume, or delete the file to start again",
)
SOAK_JOURNAL = Fault(
    "AF765",
    "soak.journal",
    "this is not a record of trials: {problem}",
    "delete the file to start again",
)
FAULT_SYNTAX = Fault(
    "AF766",
    "fault.syntax",
    "{text!r} is not a fault and its level",
    "write a kind and the share of calls that it hits, such as latency=0.2",
)
FAULT_UNKNOWN = Fault("AF767", "fault.unknown", "unknown kind of fault {name!r}", "{advice}")
FAULT_TWICE = Fault(
    "AF768", "fault.twice", "the fault {kind} is given twice", "give each kind one level"
)
FAULT_SUM = Fault(
    "AF769",
    "fault.sum",
    "the levels of the faults add up to more than 1",
    "lower them: at most one fault hits a call",
)
FAULT_SERVICE = Fault(
    "AF770",
    "fault.service",
    "faults need a service between the target and the world: {problem}",
    "name one with --service NAME=URL, --mcp-server NAME=COMMAND or --data-file NAME=PATH",
)
SOAK_DOCUMENT = Fault(
    "AF771",
    "soak.document",
    "this is not a {wanted} document: {problem}",
    "give a file that `affidavit sim soak --report` wrote",
)
SOAK_SHARD = Fault(
    "AF772",
    "soak.shard",
    "{text!r} is not a shard",
    "write its number and the number of shards, such as 1/4",
)
SOAK_MERGE = Fault(
    "AF773",
    "soak.merge",
    "these soaks cannot be merged: {problem}",
    "give the documents of all shards of one soak",
)
SOAK_CHECKS = Fault(
    "AF775",
    "soak.checks",
    "these checks cannot judge a run: {problem}",
    "write a list of checks as for `affidavit answer`, with a type of event as `tool`",
)
SURFACE_NOT_JUDGED = Fault(
    "AF774",
    "surface.not_judged",
    "no cell of the surface has a judged run",
    "run the target by itself with `affidavit sim soak` first",
    Exit.UNKNOWN,
)
