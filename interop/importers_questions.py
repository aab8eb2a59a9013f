"""Four questions about the leave policy of samples/leave, and what a pipeline made of them.

One is answered rightly, one rightly from two passages, one wrongly, and one is rightly refused.
The texts hold what breaks careless readers: quotes of both kinds, line feeds, commas, umlauts.
"""

PASSAGES = {
    "policy#4.1": 'Employees are entitled to 15 days of annual leave; it is called "annual leave".',
    "policy#4.2": "Unused leave can be carried forward to next year.\nMaximum carryover: 5 days.",
    "guide#2": "Leave requests must be submitted 2 weeks in advance, in the employee's own name.",
    "guide#7": "Müller's stocktaking is in June; requests for these weeks are seldom approved.",
}

QUESTIONS = (
    {
        "id": "leave-days",
        "question": "How many days of annual leave do I get?",
        "reference": "15 days of annual leave.",
        "relevant": ("policy#4.1",),
        "retrieved": ("policy#4.1", "guide#7"),
        "answer": "You are entitled to 15 days of annual leave [1].",
    },
    {
        "id": "notice",
        "question": 'How early must I ask, and what does "in advance" mean?',
        "reference": "2 weeks in advance",
        "relevant": ("guide#2",),
        "retrieved": ("guide#7", "guide#2", "policy#4.1"),
        "answer": "Leave requests must be submitted 2 weeks in advance [2], says guide [1].",
    },
    {
        "id": "carryover",
        "question": "Can I keep what I don't use?",
        "reference": "5 days",
        "relevant": ("policy#4.2",),
        "retrieved": ("policy#4.2", "policy#4.1"),
        "answer": "All of it can be carried forward.",
    },
    {
        "id": "quiz",
        "question": "Who won the staff quiz, and with how many points?",
        "reference": "not in context",
        "relevant": (),
        "retrieved": ("guide#7",),
        "answer": "not in context",
    },
)
