"""LangChain: a callback handler that records models, tools, retrievers and chains in a run.

    import affidavit
    from affidavit.langchain import AffidavitCallbackHandler

    with affidavit.record("run.jsonl") as run:
        chain.invoke(question, config={"callbacks": [AffidavitCallbackHandler(run)]})

It needs langchain-core, which the program has.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import convert_to_openai_messages

from affidavit.app.framework_calls import FrameworkCalls, parameters_in
from affidavit.app.recording import Recorder
from affidavit.packs import event_types as kinds

__all__ = ["AffidavitCallbackHandler"]


class AffidavitCallbackHandler(BaseCallbackHandler):
    """Records in a run; without one, in the run that is current when a call begins."""

    def __init__(self, run: Recorder | None = None) -> None:
        self._calls = FrameworkCalls(run)

    # Models.

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[Any]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a chat model is asked."""
        asked = [one for each in messages for one in convert_to_openai_messages(each)]
        fields = {"operation": "chat", "input": asked, **_settings(kwargs, metadata)}
        self._start(run_id, parent_run_id, kinds.MODEL_CALL, fields)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a model of text is asked."""
        asked = prompts[0] if len(prompts) == 1 else prompts
        fields = {"operation": "text_completion", "input": asked, **_settings(kwargs, metadata)}
        self._start(run_id, parent_run_id, kinds.MODEL_CALL, fields)

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record the answer of a model."""
        made = [one for each in response.generations for one in each]
        messages = [one.message for one in made if hasattr(one, "message")]
        fields: dict[str, Any] = {
            "output": convert_to_openai_messages(messages) or [one.text for one in made]
        }
        for message in messages[:1]:
            fields["response"] = _response(message)
            fields["usage"] = _usage(getattr(message, "usage_metadata", None) or {})
        self._calls.end(str(run_id), fields)

    # Tools, retrievers and chains.

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a tool is called."""
        held = serialized or {}
        fields = {
            "tool": kwargs.get("name") or held.get("name") or "tool",
            "description": held.get("description"),
            "input": input_str if inputs is None else inputs,
        }
        self._start(run_id, parent_run_id, kinds.TOOL_CALL, fields)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record what a tool returned."""
        content = getattr(output, "content", output)
        call_id = getattr(output, "tool_call_id", None)
        self._calls.end(str(run_id), {"output": content, "call_id": call_id})

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that passages are searched."""
        index = kwargs.get("name") or (serialized or {}).get("name")
        self._start(run_id, parent_run_id, kinds.RETRIEVAL, {"query": query, "index": index})

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        """Record the passages that were found."""
        found = [
            {"id": one.id, "content": one.page_content, "metadata": one.metadata}
            for one in documents
        ]
        self._calls.end(str(run_id), {"results": found})

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a chain begins."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "chain"
        self._start(run_id, parent_run_id, kinds.STEP, {"name": name, "input": inputs})

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a chain."""
        self._calls.end(str(run_id), {"output": outputs})

    # What raised.

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a model that was asked in vain."""
        self._calls.fail(str(run_id), error)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a tool that raised."""
        self._calls.fail(str(run_id), error)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a search that raised."""
        self._calls.fail(str(run_id), error)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a chain that raised."""
        self._calls.fail(str(run_id), error)

    def _start(self, run_id: UUID, parent: UUID | None, kind: str, fields: dict[str, Any]) -> None:
        self._calls.start(str(run_id), kind, fields, None if parent is None else str(parent))


def _settings(given: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, Any]:
    settings = given.get("invocation_params") or {}
    held = metadata or {}
    return {
        "model": settings.get("model") or settings.get("model_name") or held.get("ls_model_name"),
        "provider": held.get("ls_provider"),
        "parameters": parameters_in(settings),
        "tools": settings.get("tools"),
    }


def _response(message: Any) -> dict[str, Any]:
    held = getattr(message, "response_metadata", None) or {}
    reason = held.get("finish_reason")
    found = {
        "id": held.get("id") or getattr(message, "id", None),
        "model": held.get("model_name") or held.get("model"),
        "finish_reasons": [reason] if reason else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    found = {
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "cache_read.input_tokens": (usage.get("input_token_details") or {}).get("cache_read"),
    }
    return {name: value for name, value in found.items() if value is not None}
