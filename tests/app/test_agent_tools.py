"""What agents are told: the same results as those of the commands, and no file but the named."""

import shutil

import pytest
from tests.repository import ROOT
from tests.web.service_client import CHECKS, make_project

from affidavit.app.agent_tools import MAX_TEXT_CHARACTERS, AgentTools
from affidavit.base.errors import AffidavitError

LEAVE = ROOT / "samples" / "leave"
ANSWER = (LEAVE / "answer.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> AgentTools:
    folder = tmp_path_factory.mktemp("agents")
    shutil.copytree(LEAVE / "sources", folder / "sources")
    project = make_project(folder / "project")
    return AgentTools(project, [folder / "sources"])


def test_an_answer_is_checked_against_the_named_documents(tools: AgentTools) -> None:
    found = tools.check_answer(ANSWER, query="What may I take?", judge="lexical")
    assert found["decision"] == "no_ship"
    assert found["claims"][0]["verdict"] == "supported"
    first = found["claims"][0]
    assert first["source"]["filename"] == "HR_Policy.pdf"
    resolved = tools.resolve_citation(first["cite"][0])
    assert resolved["resolved"] is True
    assert first["evidence"] in str(resolved)


def test_texts_of_the_agent_are_read_instead(tools: AgentTools) -> None:
    text = "Staff get 25 days of leave."
    found = tools.check_answer(text, contexts=[f"{text} The office grants it."], judge="lexical")
    assert [claim["verdict"] for claim in found["claims"]] == ["supported"]
    # A text is never a path, so an agent cannot read a file of the machine.
    hidden = tools.check_answer("root has a shell.", contexts=["/etc/passwd"], judge="lexical")
    assert [claim["verdict"] for claim in hidden["claims"]] == ["not_found"]


def test_a_claim_is_judged(tools: AgentTools) -> None:
    evidence = ["Unused leave expires on 31 March."]
    assert tools.judge_claim("Unused leave expires on 31 March.", evidence, "lexical")[
        "verdict"
    ] == ("supported")
    wrong = tools.judge_claim("Unused leave expires on 30 June.", evidence, "lexical")
    assert wrong["verdict"] == "contradicted"


def test_a_receipt_is_made_and_verified(tools: AgentTools) -> None:
    receipt = tools.answer_checks(CHECKS["checks"])
    assert receipt["receipt_id"].startswith("ans_")
    assert tools.verify(receipt)["valid"] is True
    changed = {**receipt, "confidence": 0.99}
    assert tools.verify(changed)["valid"] is False


REFUSED = {
    "an empty answer": ("check_answer", ("",), "AF2"),
    "a text that is too long": ("judge_claim", ("x" * (MAX_TEXT_CHARACTERS + 1), ["y"]), "AF870"),
    "no citation": ("resolve_citation", ("../../etc/passwd",), "AF2"),
    "no checks": ("answer_checks", (), "AF3"),
    "no receipt": ("verify", ("not json",), "AF0"),
}


@pytest.mark.parametrize(("tool", "values", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_requests_have_a_code(
    tools: AgentTools, tool: str, values: tuple[object, ...], code: str
) -> None:
    with pytest.raises(AffidavitError) as refused:
        getattr(tools, tool)(*values)
    assert refused.value.fault.code.startswith(code)
