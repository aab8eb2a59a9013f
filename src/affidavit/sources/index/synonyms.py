"""Words that policies, contracts and manuals use for one another.

A claim says "vacation requests", the document "leave applications". The groups are written by hand
from the vocabulary of such documents, and hold only words that can stand in for each other without
a change of what is claimed; the judge decides whether they do. Opposites are never in one group.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

_GROUPS: Final = """
employee staff worker personnel workforce
employer company organisation organization firm
manager supervisor superior head
vacation holiday leave absence
request application apply ask
submit file lodge hand send
approve authorise authorize permit allow consent
refuse reject deny decline
forbid prohibit ban disallow
require need necessary mandatory obligatory compulsory
entitle eligible qualify right
receive get obtain
give grant provide supply offer
pay salary wage remuneration compensation
reimburse refund repay
cost expense price fee charge
buy purchase acquire
sell sale
rent lease hire
begin start commence
end finish terminate stop conclude
continue proceed resume
cancel revoke withdraw rescind
delete remove erase purge discard
add append insert include
change modify alter amend edit
replace substitute supersede
keep retain preserve maintain
store save archive hold
move transfer migrate
carry forward roll carryover rollover
copy duplicate replicate
create make produce generate build
use utilise utilize employ
choose select pick
check verify test examine inspect
find discover detect locate
show display present
say state declare express
tell inform notify announce advise
answer reply respond response
discuss talk debate
explain describe clarify
report notification notice
write author compose
read consult
recommend advise suggest propose
must shall obliged
should ought
may can might
limit maximum cap ceiling most
minimum least floor
increase raise grow rise
decrease reduce lower cut
big large huge major
small little tiny minor
quick fast rapid prompt
slow late delayed
early advance beforehand prior before
after later following subsequently
daily day
weekly week fortnight
monthly month
yearly year annual annually
often frequent usually normally generally typically commonly
rare seldom rarely
always every all each
several multiple various many numerous
only solely exclusively merely
about approximately roughly around
wrong incorrect invalid improper bad
right correct valid proper
error fault mistake failure fail problem
bug defect issue
fix repair correct solve resolve
break damage harm
safe secure security
danger risk hazard
secret confidential private
public open
free gratis
law legal statute legislation
rule regulation policy guideline
contract agreement
breach violation infringement violate
penalty fine sanction
licence license
copyright authorship
owner proprietor possession
sign signature signed
name title called
word term
meaning definition define mean
number count amount quantity
size length volume
date day deadline
time period duration
place location site
address mail email e-mail
person people human individual
user customer client
developer author programmer creator
maintainer responsible
admin administrator operator
member participant
group team committee
leader chief head
child dependent minor
doctor physician medical
illness sick sickness disease
accident injury
insurance cover coverage
retire retirement pension
resign quit leave
dismiss fire terminate
recruit hire appoint
training course education
travel trip journey
office workplace premises
home remote telework
computer machine server host
program software application
programme program
file document
folder directory
path location
list enumeration
table chart
field column
row line entry
key password credential
login account
access entry permission
install set-up setup
uninstall remove
download fetch retrieve
upload submit
update upgrade
version release edition revision
package bundle
library module
depend dependency rely
conflict clash incompatible
compatible interoperable
default standard preset
option setting parameter
optional voluntary
example sample instance illustration
template form
symlink link shortcut
compress gzip zip
unpack extract decompress
run execute invoke call
command instruction
script program
shell terminal
output result
input entry
empty blank
vanish disappear lost silently
hide hidden conceal
automatic automatically automated
manual hand manually
machine device equipment
fault blame
help assist support
question query
meeting conference
vote election ballot
goal aim purpose objective
reason cause why
effect consequence impact
important critical essential vital
urgent emergency
enough sufficient adequate
missing absent lacking
different distinct other
same identical equal
similar alike comparable
new recent latest
old former previous outdated obsolete deprecated
first initial original
last final
"""


def synonyms_by_stem(
    analyze: Callable[[str], Sequence[str]],
) -> Mapping[str, frozenset[str]]:
    """Return the stems that may stand for a stem; `analyze` turns words into stems."""
    found: dict[str, set[str]] = {}
    for line in _GROUPS.split("\n"):
        group = set(analyze(line))
        for stem in group:
            found.setdefault(stem, set()).update(group - {stem})
    return {stem: frozenset(others) for stem, others in found.items()}
