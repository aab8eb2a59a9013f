"""The little grammar that the ledger needs: where a clause has its verb, and in which form.

Not a parser. Closed lists of common English verbs, so that a rule that uses them can be read and
replayed; a verb that is not listed is not seen, and a sentence is then left whole.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list that is written as text."""
    return frozenset(words.split())


class Form(StrEnum):
    """The form of a finite verb, which a second verb with the same subject must share."""

    SINGULAR = "singular"
    """is, has, does, includes"""
    PLURAL = "plural"
    """are, have, do, include"""
    PAST = "past"
    """was, were, had, did, opened, made"""
    MODAL = "modal"
    """must, can, will"""


BE: Final = word_set("is are was were isn't aren't wasn't weren't")
_AUXILIARIES: Final = {
    **dict.fromkeys(word_set("is has does isn't hasn't doesn't"), Form.SINGULAR),
    **dict.fromkeys(word_set("are have do aren't haven't don't"), Form.PLURAL),
    **dict.fromkeys(word_set("was were had did wasn't weren't hadn't didn't"), Form.PAST),
    **dict.fromkeys(
        word_set(
            """can could cannot may might must shall should will would can't couldn't mustn't
            shouldn't won't wouldn't needn't"""
        ),
        Form.MODAL,
    ),
}
# Verbs of which no form in use is a noun.
_PLAIN: Final = word_set(
    """abandon abolish absorb accelerate accept accommodate accompany accomplish accrue accuse
    achieve acknowledge acquire activate adapt add adhere adjust administer admit adopt advise
    advocate affect agree allocate allow alter amend analyse analyze announce anticipate appear
    apply appoint appreciate approve arise arrange arrive ask assemble assert assess assign
    assist assume assure attach attend attract authorise authorize avoid become begin believe
    belong borrow bring build bury buy calculate cancel carry cease celebrate certify choose
    circulate cite clarify classify collaborate collapse collect combine come commemorate
    commence commit communicate compensate compete compile complain complement complete comply
    compose comprise compute conceal concede conclude conduct confer confine confirm conform
    confront connect conserve consider consist constitute construct consult consume contain
    continue contradict contribute convert convey convince cooperate coordinate correspond cover
    create criticise decide dedicate deduct deem defend defer define delegate delete deliver
    demonstrate deny depart depend depict deploy deprive derive descend describe deserve
    designate destroy detect deteriorate determine develop devote diagnose dictate die differ
    differentiate diminish disable disagree disappear disclose discourage discover discuss
    dismiss dissolve distinguish distribute disturb divide dominate donate earn eat edit elect
    eliminate embrace emerge emit emphasise emphasize employ enable enclose encompass encounter
    encourage encrypt endorse endure enforce engage enhance enjoy enlarge enrol enroll ensure
    entail enter entitle equip erase establish evaluate evict evolve examine exceed exclude
    execute exempt exert exist expand expect expire explain explore expose express extend
    facilitate fail fall feed feel fetch fill find fix flee follow forbid forfeit forget foster
    fulfil fulfill furnish gather generate get give go govern grow happen hear hesitate hide
    hinder hold identify ignore illustrate implement imply impose improve include incorporate
    incur indicate induce infect infer inform inhabit inherit initiate insist inspect inspire
    install instruct insure integrate intend interact interfere interpret intervene introduce
    invade invent invest invite involve isolate justify keep know learn lend lie listen live
    locate lose maintain make manage manufacture maximise maximize mean mediate meet mention
    merge migrate minimise minimize mitigate modify monitor motivate multiply neglect negotiate
    nominate notify obey oblige observe obstruct obtain occupy occur omit operate oppose
    optimise optimize organise organize originate overcome oversee owe own participate perceive
    perform permit persist persuade pertain possess postpone precede predict prefer prepare
    prescribe preserve preside presume prevail prevent proceed proclaim prohibit prolong promote
    propose prosecute protect prove provide provoke publish pursue qualify raise reach rebuild
    receive recognise recognize recommend recover recruit redirect reduce refer refine reflect
    refuse register regulate reimburse reinforce reject relate rely remain remind remove render
    renew renovate repay replace represent reproduce require resemble reside resign resist
    resolve respond restore restrict resume retain retire retrieve reveal revise revive revoke
    satisfy save say secure seek seem seize select sell send separate serve settle shrink shut
    simplify sing sit solve speak specialise specialize specify spend stand stimulate stipulate
    strengthen strive submit subscribe succeed suffer suffice suggest summarise summarize
    supervise suppose suppress surpass surround survive suspend sustain swear swim synchronise
    synchronize take teach tell tend terminate think thrive throw tolerate transform translate
    transmit treat undergo undermine understand undertake unify unite unlock uphold use utilise
    utilize validate vanish vary verify vest violate waive want weaken wear widen withdraw write"""
)
# Verbs with a form that is a noun too ("costs", "a report"): only what follows tells them apart.
_NOUN_LIKE: Final = word_set(
    """access account address advance aid aim alert answer approach arrest attack attempt audit
    average award balance ban bear benefit bid bill block boost border brand break bridge
    broadcast budget burn call capture care cast catch cause challenge change charge chart chase
    check circle claim close coach code command comment commission compromise concern contact
    contract contrast control cook copy cost count credit cross cut cycle damage date deal
    debate debut decline decrease defeat delay demand deposit design detail display document
    double doubt download draft drain draw drill drink drive drop ease end equal estimate
    exchange exercise exhibit experience exploit export face fear feature fight figure file
    filter finance finish fit float flood flow fly focus fold force forecast form frame freeze
    fuel function fund gain grade grant guarantee guard guide handle harm harvest heat help
    highlight hire hit hope host house hunt impact import increase influence interest interface
    invoice issue join judge jump kick kill label lack land last laugh launch layer lead lease
    leave level lift light limit link list load lock look love lower mail mandate map mark
    market match matter measure miss mix model mount move name need note number offer open orbit
    order outline pack paint park partner pass patent pause pay pilot pitch place plan plant
    play point poll position post power practice praise present press price print process
    produce profile profit program progress project promise protest pull pump purchase push
    quote race range rank rate recall record reference reform refund regard relay release remedy
    rent repair repeat reply report request rescue research reserve respect rest restart result
    retreat return review reward ring rise risk roll rotate route rule run sail sample sanction
    scale scan schedule score screen seal search seat sense sequence service set shape share
    shelter shift shine ship shoot show sign signal sink skip slide slow smoke sort sound source
    span sponsor spot spread staff stage start state stay stem step stock stop store stream
    stress stretch strike structure struggle study substitute suit supply support surface survey
    switch talk target taste tax test threaten tie top total touch tour trace track trade train
    transfer transport trap travel trigger trust try tune turn twist update upgrade upload value
    view visit volunteer vote wait wake walk warn warrant wash waste watch weigh welcome win
    wish work wrap yield"""
)
_IRREGULAR_PAST: Final = word_set(
    """arose became began bore bought broke brought built came chose drew drove fell fought found
    gave got grew held kept knew laid lay led left lost made meant met paid ran rose said sat saw
    sent shrank sold spent spoke stood taught threw told took understood went won wore wrote"""
)
_MAY_BE_PARTICIPLE: Final = word_set(
    """bought brought built fought found got held kept laid led left lost made meant met paid sent
    sold spent taught told understood won"""
)
# Past forms that stand without an object: "The office closed in 2003".
_INTRANSITIVE_PAST: Final = word_set(
    """appeared arrived began belonged changed closed collapsed competed continued debuted
    declined decreased died disappeared dropped emerged emigrated ended evolved existed expanded
    expired failed graduated happened increased landed lasted lived merged migrated moved
    occurred opened participated performed played premiered ranked remained resided resigned
    retired returned served settled started stayed stopped studied succeeded toured traveled
    travelled voted worked"""
)
PARTICIPLES: Final = word_set(
    """born bought broken brought built chosen done drawn driven fought found given grown held kept
    known laid led lost made meant met paid run seen sent set shown sold spent taken taught told
    won worn written"""
)
_COMMANDS: Final = word_set(
    """apply ask attend avoid book check complete contact create ensure file follow give keep make
    notify obtain open provide report request return review send sign submit take use wait"""
)
SUBORDINATORS: Final = word_set(
    """if unless provided providing whether when whenever because until although though lest while
    since once after before as where wherever who whom whose which that"""
)
"""Words that open a clause which cannot stand alone, or which another clause holds."""

CONDITIONS: Final = word_set(
    "if unless provided providing whether when whenever because until although though lest"
)
DETERMINERS: Final = word_set(
    "a an the its their his her our your my this these those that some any all each every both no"
)
PREPOSITIONS: Final = word_set(
    """about above across after against along among around at before behind below between by despite
    down during for from in inside into near of off on onto out over per since through throughout to
    toward towards under until up upon via with within without"""
)
ADVERBS: Final = word_set(
    "also always currently later never not now often only soon still then therefore today usually"
)
_OBJECTS: Final = word_set(
    """it them him us you me one less more half nothing something everything enough several many
    two three four five six seven eight nine ten twelve"""
)
_CLEAR_BEGINNINGS: Final = DETERMINERS | word_set("it he she they we you who which")
_PLURAL_WORDS: Final = word_set("they we you i people staff children men women police")
_WORD: Final = re.compile(r"([,;][ ])?([^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d(?:[\d.,]*\d)?)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word in lower case, with its place."""

    text: str
    start: int
    end: int
    is_capital: bool = False
    after_comma: bool = False


@lru_cache(maxsize=64)
def words_of(text: str) -> tuple[Word, ...]:
    """Return the words and numbers of `text`. Several rules in a row ask about one sentence."""
    return tuple(
        Word(
            found[2].lower().replace("\u2019", "'"),
            found.start(2),
            found.end(2),
            found[2][0].isupper(),
            found[1] is not None,
        )
        for found in _WORD.finditer(text)
    )


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb[-1] == "y" and verb[-2] not in "aeiou" else f"{verb}s"


_PLAIN_SINGULAR: Final = frozenset(map(_third_person, _PLAIN))
_NOUN_LIKE_SINGULAR: Final = frozenset(map(_third_person, _NOUN_LIKE))
_CAN_BE_BASE: Final = _PLAIN | _NOUN_LIKE


def find_main_verb(words: tuple[Word, ...]) -> int | None:
    """Return the number of the first surely finite verb, or None.

    A verb behind a subordinator or a relative pronoun belongs to another clause, so the search
    ends there.
    """
    for number, word in enumerate(words):
        if word.text in SUBORDINATORS:
            return None
        if verb_form(words, number) is not None:
            return number
    return None


def verb_form(words: tuple[Word, ...], number: int, *, has_subject: bool = True) -> Form | None:
    """Return the form of the word as a finite verb, or None where it may be something else.

    `has_subject`: the subject must stand before the verb. It does not where the verb is the second
    one of its subject: "costs 20 EUR and includes support".
    """
    word = words[number].text
    before = words[number - 1].text if number else ""
    if before == "to":
        return None
    if word in _AUXILIARIES:
        return _AUXILIARIES[word]
    if has_subject and (not number or _is_determiner(words, number - 1)):
        return None
    if word in _PLAIN_SINGULAR:
        return Form.SINGULAR
    if word in _NOUN_LIKE_SINGULAR:
        return Form.SINGULAR if _has_object(words, number, has_subject) else None
    if word in _CAN_BE_BASE:
        return _plural(words, number, has_subject)
    return _past(words, number, has_subject)


def _is_determiner(words: tuple[Word, ...], number: int) -> bool:
    # The A of "Plan A" is a name.
    return words[number].text in DETERMINERS and not (number and words[number].is_capital)


def _plural(words: tuple[Word, ...], number: int, has_subject: bool) -> Form | None:
    at = number - 1
    while at > 0 and is_adverb(words[at].text):
        at -= 1
    before = words[at].text
    if has_subject and not (_looks_plural(before) or before in _PLURAL_WORDS):
        return None
    if words[number].text in _PLAIN:
        return Form.PLURAL
    return Form.PLURAL if _has_object(words, number, has_subject) else None


def _past(words: tuple[Word, ...], number: int, has_subject: bool) -> Form | None:
    word = words[number].text
    if word in _IRREGULAR_PAST and word not in _MAY_BE_PARTICIPLE:
        return Form.PAST
    if not word.endswith("ed") and word not in _MAY_BE_PARTICIPLE:
        return None
    # "opened a plant" is past tense; "hired in 2020" may be a participle.
    may_stand_alone = word in _INTRANSITIVE_PAST
    return Form.PAST if _has_object(words, number, has_subject, may_stand_alone) else None


def _has_object(
    words: tuple[Word, ...], number: int, has_subject: bool, may_stand_alone: bool = True
) -> bool:
    """Tell whether what follows a word shows that it is a verb."""
    following = words[number + 1] if number + 1 < len(words) else None
    if following is None or following.text == "of":
        return False
    strong = following.text in DETERMINERS or following.text in _OBJECTS
    if strong or following.text[0].isdigit():
        # "Staff hired 5 years ago are paid": a number may belong to a participle.
        return strong or not _is_followed_by_verb(words, number)
    weak = following.text in PREPOSITIONS or is_adverb(following.text) or following.is_capital
    if has_subject and not (weak and words[number].text.endswith("ed")):
        # "The app tracks expenses" has a verb; "Sales reports for May" has none.
        weak = _has_clear_subject(words, number)
    return may_stand_alone and weak and not _is_followed_by_verb(words, number)


def _has_clear_subject(words: tuple[Word, ...], number: int) -> bool:
    before = words[:number]
    is_name = len(before) > 1 and all(word.is_capital for word in before)
    is_clear = is_name or before[0].text in _CLEAR_BEGINNINGS
    is_plural_subject = _looks_plural(before[-1].text)
    form_fits = is_plural_subject != words[number].text.endswith("s")
    return form_fits and (is_clear or is_plural_subject)


def _is_followed_by_verb(words: tuple[Word, ...], number: int) -> bool:
    """Tell whether a later word is the verb, so that this one is a noun or a participle."""
    for word in words[number + 1 :]:
        if word.after_comma or word.text in SUBORDINATORS or word.text in ("and", "but", "or"):
            return False
        if word.text in _AUXILIARIES or word.text in _PLAIN_SINGULAR:
            return True
    return False


def _looks_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is"))


def is_plural(noun: str, verb: str = "", form: Form | None = None) -> bool:
    """Tell whether a subject is plural, from its verb or else from its noun."""
    if verb in ("was", "were"):
        return verb == "were"
    if form in (Form.SINGULAR, Form.PLURAL):
        return form is Form.PLURAL
    return _looks_plural(noun) or noun in _PLURAL_WORDS


def is_adverb(word: str) -> bool:
    """Tell whether a word may stand between a subject and its verb."""
    return word in ADVERBS or word.endswith("ly")


def is_participle(word: str) -> bool:
    """Tell whether a word may be a past participle."""
    return word.endswith("ed") or word in PARTICIPLES


def is_base_verb(word: str) -> bool:
    """Tell whether a word may stand behind "must"."""
    return word in _CAN_BE_BASE or word == "be"


def is_plain_verb(word: str) -> bool:
    """Tell whether a word is the base form of a verb and of no noun."""
    return word in _PLAIN or word == "be"


def is_clause(text: str) -> bool:
    """Tell whether `text` surely has a main verb of its own."""
    return find_main_verb(words_of(text)) is not None


def is_command(text: str) -> bool:
    """Tell whether `text` begins like a command: "Submit the form"."""
    words = words_of(text)
    return bool(words) and words[0].text in _COMMANDS
