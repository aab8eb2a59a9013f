"""What a claim is: the table behind rules T1 to T4 of docs/ledger.md."""

import pytest

from affidavit.ledger.kinds import claim_type
from affidavit.ledger.model import ClaimType

N, D, P, F = ClaimType.NUMERIC, ClaimType.DEFINITION, ClaimType.POLICY, ClaimType.FACT

SPEC = {
    # Section 8.1 of the seed.
    "an entitlement to a number is a policy": (
        "Employees are entitled to 15 days of annual leave",
        P,
    ),
    "a duty with a number is a policy": (
        "Leave requests must be submitted 2 weeks in advance",
        P,
    ),
    "a permission is a policy": ("Unused leave can be carried forward to next year", P),
    "a measure and its number is numeric": ("Maximum carryover is 5 days", N),
    # T1: the quantity is what is asserted.
    "a count without duty": ("Employees receive 15 days of annual leave", N),
    "a number word": ("The team has twelve members", N),
    "one with a unit": ("The break is one hour long", N),
    "one without a unit is an article": ("One reason is the cost of living", F),
    "money": ("The licence costs $1,200 per year", N),
    "euros behind the number": ("The fine was 500 euros", N),
    "a share": ("Revenue grew by 12%", N),
    "a share in words": ("Sales fell by 3.5 percent", N),
    "a range": ("Prices range from 10 to 20 dollars", N),
    "a fraction in words": ("Half of the votes were counted", F),
    "half as an amount": ("The tank is half full", N),
    "a temperature": ("Water boils at 100\u00b0C", N),
    "a unit stuck to the number": ("The download is 45MB", N),
    "a multiple": ("The new engine is 3x faster", N),
    "a duration as an adjective": ("A 15-day notice is common", N),
    "the predicate wins over a participle": ("The maximum allowed carryover is 5 days", N),
    "a predicate before the duty": ("The limit is 5 days and must not be exceeded", N),
    "a predicate behind the duty": ("Requests must be filed if leave is 5 days or more", P),
    "a limit is a measure": ("Carryover is limited to 5 days", N),
    "a cap is a measure": ("Carryover is capped at 5 days and can be waived", N),
    "at least is a measure": ("The minimum deposit is at least $50", N),
    "a table row": ("Leave type: Annual; Days: 15", N),
    "a count of people": ("The office has 2000 employees", N),
    "a possibility is no permission": ("Whales can hold their breath for 90 minutes", N),
    "a possible range is no permission": ("Processing may take up to 10 days", N),
    # Numbers that are no quantity.
    "a year is a date": ("Acme was founded in 1998", F),
    "a date": ("The treaty was signed on March 3, 1918", F),
    "a date the other way": ("The treaty was signed on 3 March 1918", F),
    "an ISO date": ("The contract ends on 2026-01-03", F),
    "a time of day": ("The shop opens at 9:30", F),
    "a time with am": ("The shop opens at 9 am", F),
    "an ordinal": ("She finished 3rd in the race", F),
    "a section is a reference": ("The topic is treated in Section 3.2", F),
    "several sections are references": ("The topic is treated in sections 3 and 4", F),
    "a paragraph sign": ("The topic is treated in \u00a7 4", F),
    "a version is a name": ("The program runs on Python 3.11", F),
    "a name with a number": ("COVID-19 spread quickly", F),
    "a standard is a name": ("The company holds ISO 27001 certification", F),
    "a file name with a year": ("The rule stands in HR_Policy_2024", F),
    "a product name": ("The B2B market is large", F),
    "the two is no count": ("The two companies merged", F),
    # T2: definitions.
    "means": ("Carryover means leave that moves into the next year", D),
    "refers to": ("Churn refers to the loss of customers", D),
    "is defined as": ("A working day is defined as any day except Sunday", D),
    "is known as": ("This process is known as photosynthesis", D),
    "is called": ("The capital of a country is called its seat of government", D),
    "stands for": ("HR stands for human resources", D),
    "is a thing that": ("A fiduciary is a person who acts for another", D),
    "is the process of": ("Photosynthesis is the process of turning light into sugar", D),
    "is a thing used to": ("A barometer is an instrument used to measure pressure", D),
    "a glossary entry": ("API: an interface between programs", D),
    "a definition with a permission inside": ("A manager is a person who may approve leave", D),
    "numeric comes before definition": ("A leap year is a year that has 366 days", N),
    "a pronoun defines nothing": ("He is a man who likes tea", F),
    # T3: policies.
    "must": ("Visitors must sign in", P),
    "shall": ("The tenant shall pay the rent", P),
    "should": ("Reports should be filed monthly", P),
    "may as permission": ("Employees may work from home", P),
    "may not": ("Employees may not accept gifts", P),
    "cannot": ("Leave cannot be sold", P),
    "a curly apostrophe": ("Leave can\u2019t be sold", P),
    "required": ("Approval is required", P),
    "requires": ("The form requires two signatures", P),
    "not allowed": ("Smoking is not allowed", P),
    "eligible": ("Contractors are not eligible for leave", P),
    "prohibits": ("The code prohibits gifts", P),
    "have to": ("Managers have to approve requests", P),
    "subject to": ("Carryover is subject to approval", P),
    "discretion": ("Carryover happens at the discretion of the manager", P),
    "a command": ("Never share your password", P),
    "a command with a number": ("Do not store more than 5 copies", P),
    # T4: everything else.
    "an event": ("The company moved to Berlin", F),
    "a property": ("The sky is blue", F),
    "an ability is no policy": ("Bees can see ultraviolet light", F),
    "a possibility is no policy": ("The drug may cause headaches", F),
    "a likely thing is no policy": ("Results may vary", F),
    "a month is no permission": ("The fair takes place in May", F),
    "a past event in May": ("In May the company was sold", F),
    "an attribute without a number": ("Paris is the capital of France", F),
}


@pytest.mark.parametrize(("text", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_claim_type(text: str, wanted: ClaimType) -> None:
    assert claim_type(text) is wanted
