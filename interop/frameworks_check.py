"""Run by interop/frameworks.sh: a program of one framework, recorded, sealed, verified, linted."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from otel_check import Provider, affidavit

import affidavit as product

KEY = "sk-" + "not-for-any-log"
QUESTION = "How many days, and when is it open?"


class Look:
    """The tools, the same for every framework."""

    @staticmethod
    def leave_days(of: str) -> str:
        """Look up the days of leave."""
        return f"{of} has 12 days"

    @staticmethod
    def office_hours(of: str) -> str:
        """Look up the office hours."""
        return f"{of} is open from 9:00 to 17:00"


def run_langchain(url: str, log: Path) -> None:
    """An agent's loop in LangChain, with a retriever."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    class Passages(BaseRetriever):
        """Finds one passage."""

        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content="You get twelve days.", metadata={"page": 3})]

    tools = {one.__name__: tool(one) for one in (Look.leave_days, Look.office_hours)}
    model = ChatOpenAI(model="gpt-4o-mini", base_url=url, api_key=KEY, temperature=0, seed=7)
    asking = model.bind_tools(list(tools.values()))

    def agent(question: str) -> str:
        Passages().invoke(question)
        messages = [{"role": "user", "content": question}]
        while True:
            said = asking.invoke(messages)
            if not said.tool_calls:
                return said.content
            messages.append(said)
            messages += [tools[one["name"]].invoke(one) for one in said.tool_calls]

    # What the user adds.
    from affidavit.langchain import AffidavitCallbackHandler

    with product.record(log, durability="batch", input=QUESTION) as run:
        handler = AffidavitCallbackHandler(run)
        answer = RunnableLambda(agent).invoke(QUESTION, config={"callbacks": [handler]})
        run.finish(output=answer)


def run_llama_index(url: str, log: Path) -> None:
    """A function-calling agent of LlamaIndex, and a retriever."""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.llms.openai import OpenAI

    class Passages(BaseRetriever):
        """Finds one passage."""

        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=TextNode(text="You get twelve days."), score=0.5)]

    model = OpenAI(
        model="gpt-4o-mini",
        api_base=url,
        api_key=KEY,
        temperature=0,
        additional_kwargs={"seed": 7},
    )
    agent = FunctionAgent(tools=[Look.leave_days, Look.office_hours], llm=model, streaming=False)

    async def main() -> str:
        Passages().retrieve(QUESTION)
        return str(await agent.run(QUESTION))

    # What the user adds.
    from affidavit.llama_index import AffidavitEventHandler

    with product.record(log, durability="batch", input=QUESTION) as run:
        AffidavitEventHandler(run).add_to(get_dispatcher())
        run.finish(output=asyncio.run(main()))


def run_proxy(url: str, log: Path) -> None:
    """The OpenAI client, which knows of nothing but another address; one call is a stream."""
    from openai import OpenAI

    options = ("--to", url, "-o", str(log), "--port", "0", "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "affidavit", "proxy", *options], stdout=subprocess.PIPE, text=True
    )
    shown = ""
    while "}" not in shown:
        shown += process.stdout.readline()
    client = OpenAI(base_url=json.loads(shown)["url"], api_key=KEY)
    messages = [{"role": "user", "content": QUESTION}]
    options = {"model": "gpt-4o-mini", "temperature": 0, "seed": 7}
    said = client.chat.completions.create(messages=messages, **options).choices[0].message
    messages.append(said.model_dump(exclude_none=True))
    for one in said.tool_calls:
        found = getattr(Look, one.function.name)(**json.loads(one.function.arguments))
        messages.append({"role": "tool", "tool_call_id": one.id, "content": found})
    answer = client.chat.completions.create(messages=messages, **options)
    assert answer.choices[0].message.content.startswith("12 days")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


RUNS = {"langchain": run_langchain, "llama-index": run_llama_index, "proxy": run_proxy}


def main() -> None:
    """Check one framework."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True)
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        os.environ.pop(variable, None)
    log, bundle = folder / "run.jsonl", folder / "run.tar.gz"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    Thread(target=server.serve_forever, daemon=True).start()
    RUNS[name](f"http://127.0.0.1:{server.server_port}/v1", log)
    server.shutdown()
    assert KEY not in log.read_text("utf-8")
    affidavit("evidence", "seal", str(log), "-o", str(bundle))
    affidavit("evidence", "verify", str(bundle))
    shown = json.loads(affidavit("evidence", "show", str(bundle), "--events", "--json"))
    events = [(one["type"].removeprefix("affidavit."), one["data"]) for one in shown["events"]]
    types = [kind for kind, _ in events]
    assert types.count("model.call") == 2, types
    tools = [data for kind, data in events if kind == "tool.call"]
    assert {one["tool"] for one in tools} == {"leave_days", "office_hours"}, tools
    assert "12 days" in str(tools), tools
    if name != "proxy":
        (found,) = [data for kind, data in events if kind == "retrieval"]
        assert found["query"] == QUESTION, found
        assert "twelve" in str(found["results"]), found
    for call in (data for kind, data in events if kind == "model.call"):
        assert call["model"] == "gpt-4o-mini", call
        assert call["parameters"]["seed"] == 7, call
        assert call["usage"] == {"input_tokens": 12, "output_tokens": 3}, call
    lint = json.loads(affidavit("evidence", "lint", str(bundle), "--json"))
    closure = lint["bundles"][0]["closure_report"]["closure"]
    print(f"{name}: {len(types)} events, closure {closure['score']}, missing {closure['missing']}")


if __name__ == "__main__":
    main()
