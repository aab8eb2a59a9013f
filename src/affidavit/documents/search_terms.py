"""Search terms of a text or a claim: stems, synonyms, and exact keys for numbers and compounds."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

# Words that policies, contracts and manuals use for one another.
#
# A claim says "vacation requests", the document "leave applications". The groups are written by
# hand from the vocabulary of such documents, and hold only words that can stand in for each other
# without a change of what is claimed; the judge decides whether they do. Opposites are never in one
# group.

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
    """Return the synonyms of a stem; `analyze` turns words into stems."""
    found: dict[str, set[str]] = {}
    for line in _GROUPS.split("\n"):
        group = set(analyze(line))
        for stem in group:
            found.setdefault(stem, set()).update(group - {stem})
    return {stem: frozenset(others) for stem, others in found.items()}


# Words to search by: stems and their synonyms for meaning, keys for what is exact.
#
# Keys are numbers in one spelling (1,000 and 1000, fourteen and 14) and words that hyphens, slashes
# or dots hold together, written as one (carry-over and carryover, debian/control). Both sides of
# the search are made here, so a claim is never parsed as a query: no character of it has a meaning.

STEMS: Final = "affidavit_stems"
_LONGEST_WORD: Final = 60
_MAX_STEMS: Final = 200_000
_WORD: Final = re.compile(r"[^\W_]+")
_LONG_WORD: Final = re.compile(r"[^\W\d_]{6,}")
_PUNCTUATION: Final = "\"'()[]{}<>.,;:!?%$\u20ac\u00a3\u2018\u2019\u201c\u201d\u2026*#|`~=&"
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_JOINER: Final = re.compile(r"[\W_]+")
_CJK_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# "One" is a pronoun far more often than a number.
_NUMBER_WORDS: Final = {word: str(value) for value, word in enumerate(_ONES) if value != 1} | {
    word: str(20 + 10 * index) for index, word in enumerate(_TENS)
}
_SPAN_OF_TIME: Final = re.compile(
    r"\b(?P<count>\d{1,4}|[a-z]+)[ -](?P<unit>week|day|year|month|hour|minute)s?\b"
)
_SAME_TIME: Final = {"week": 7, "year": 12, "hour": 60}
_INTO_SAME_TIME: Final = {"day": 7, "month": 12, "minute": 60}
_STOP_WORD_WEIGHT: Final = 0.3
_SYNONYM_WEIGHT: Final = 0.4
_STOP_WORDS: Final = """
a an and any are as at be been being but by can could did do does for from had has have he her his
how i if in into is it its may might must no nor not of on or our shall she should so some such
than that the their them then there these they this those to was we were what when where which who
whom whose why will with would you your
"""


@cache
def stem_analyzer() -> "TextAnalyzer":
    """Return what turns text into stems: letters and digits, lower case, no accents, English."""
    import tantivy

    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


class _Stems(dict[str, str]):
    """Stems by word: the analyzer is asked for every word only once."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        self[word] = stem = next(iter(stem_analyzer().analyze(word)), "")
        return stem


_stems: Final = _Stems()


def stems_of(text: str) -> list[str]:
    """Return the stems of a text in order."""
    return list(map(_stems.__getitem__, _WORD.findall(text.lower())))


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(stem_analyzer().analyze(_STOP_WORDS))


@cache
def _synonyms() -> Mapping[str, frozenset[str]]:
    return synonyms_by_stem(stem_analyzer().analyze)


class SearchTerm(NamedTuple):
    """A stem to search for: the word of the claim that it represents, and how well, up to 1."""

    word: int
    strength: float
    is_own: bool = True
    """Whether the claim itself has it; otherwise it is a synonym."""


def claim_terms(claim: str) -> dict[str, SearchTerm]:
    """Return the stems to search for: those of the claim, and their synonyms.

    Stop words count little, but not nothing: "templates should not say I or we".
    """
    stems = tuple(dict.fromkeys(filter(None, stems_of(claim))))
    small, synonyms = _stop_stems(), _synonyms()
    terms = {
        stem: SearchTerm(word, _STOP_WORD_WEIGHT if stem in small else 1.0)
        for word, stem in enumerate(stems)
    }
    for word, stem in enumerate(stems):
        if stem not in small:
            for other in sorted(synonyms.get(stem, ())):
                terms.setdefault(other, SearchTerm(word, _SYNONYM_WEIGHT, is_own=False))
    return terms


def exact_keys(text: str) -> list[str]:
    """Return the keys of a text, with repetitions: first those in words."""
    words = text.lower().split()
    keys = [_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS]
    # Most words are letters only, and end here.
    for written in [word for word in words if not word.isalpha()]:
        word = written.strip(_PUNCTUATION)
        if word.isalpha():
            if word in _NUMBER_WORDS:
                keys.append(_NUMBER_WORDS[word])
        elif _NUMBER.fullmatch(word):
            keys.append(word.lstrip("+-").replace(",", ""))
        elif joined := _JOINER.sub("", word):
            keys.append(joined[:_LONGEST_WORD])
    # Chinese and Japanese are written without spaces: every two signs that touch are a key.
    for run in () if text.isascii() else _CJK_RUN.findall(text):
        keys.extend(map(str.__add__, run, run[1:]))
    return keys


def claim_keys(claim: str) -> tuple[str, ...]:
    """Return the distinct keys that a passage about this claim may have.

    Besides its own: every long word, because a passage may write it with a hyphen, and the same
    span of time in the other unit (2 weeks and 14 days).
    """
    words = _LONG_WORD.findall(claim.lower())
    return tuple(dict.fromkeys((*exact_keys(claim), *_equivalent_durations(claim), *words)))


def _equivalent_durations(claim: str) -> Iterator[str]:
    for match in _SPAN_OF_TIME.finditer(claim.lower()):
        written = _NUMBER_WORDS.get(match["count"], match["count"])
        if not written.isdecimal():
            continue
        count, unit = int(written), match["unit"]
        if unit in _SAME_TIME:
            yield str(count * _SAME_TIME[unit])
        elif count and count % _INTO_SAME_TIME[unit] == 0:
            yield str(count // _INTO_SAME_TIME[unit])
