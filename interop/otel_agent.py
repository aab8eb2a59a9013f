"""An agent of about sixty lines with tools, threads and tasks. It knows OpenTelemetry only."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

from openai import AsyncOpenAI
from openinference.instrumentation import OITracer

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Looks up {name}.",
            "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
        },
    }
    for name in ("leave_days", "office_hours")
]
FACTS = {"leave_days": {"days": 12}, "office_hours": {"open": "9:00", "close": "17:00"}}


def make_agent(tracer: OITracer, url: str):
    """Return the agent: a question in, an answer out."""
    client = AsyncOpenAI(base_url=url, api_key="sk-not-a-key")

    @tracer.tool
    def look_up(name: str, of: str) -> dict:
        return FACTS[name] | {"of": of}

    async def use_tools(calls) -> list[dict]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            from contextvars import copy_context

            results = await asyncio.gather(
                *(
                    loop.run_in_executor(
                        pool,
                        copy_context().run,
                        look_up,
                        call.function.name,
                        json.loads(call.function.arguments)["of"],
                    )
                    for call in calls
                )
            )
        return [
            {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)}
            for call, result in zip(calls, results, strict=True)
        ]

    @tracer.agent
    async def ask(question: str) -> str:
        messages = [{"role": "user", "content": question}]
        for _ in range(4):
            reply = await client.chat.completions.create(
                model="gpt-4o-mini", messages=messages, tools=TOOLS, temperature=0, seed=7
            )
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message.model_dump(exclude_none=True))
            messages += await use_tools(message.tool_calls)
        sys.exit("the model did not answer")

    return ask
