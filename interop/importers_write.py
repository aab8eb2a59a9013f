"""Has a tool write its own file about our four questions: python importers_write.py TOOL FOLDER.

No model is asked and nothing leaves the machine: answers are given, and models are the tools' own
stand-ins. What tells of the machine or of the moment is taken out of the files.
"""

import importlib.util
import json
import os
import re
import shutil
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory

from importers_questions import PASSAGES, QUESTIONS

HERE = Path(__file__).resolve().parent


def passages(question: dict, kind: str) -> list[str]:
    """Return the texts of a question's retrieved or relevant passages."""
    return [PASSAGES[name] for name in question[kind]]


def documents(question: dict) -> list[dict]:
    """Return the retrieved passages with their ids and scores."""
    return [
        {"id": name, "content": PASSAGES[name], "score": round(0.9 - 0.1 * rank, 1)}
        for rank, name in enumerate(question["retrieved"])
    ]


def write_ragas(folder: Path) -> None:
    """A data set, and a result with two metrics that need no model."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.metrics import ExactMatch, StringPresence

    samples = [
        SingleTurnSample(
            user_input=question["question"],
            retrieved_contexts=passages(question, "retrieved"),
            reference_contexts=passages(question, "relevant"),
            response=question["answer"],
            reference=question["reference"],
        )
        for question in QUESTIONS
    ]
    data = EvaluationDataset(samples)
    data.to_csv(folder / "ragas.csv")
    data.to_jsonl(folder / "ragas.jsonl")
    result = evaluate(data, metrics=[ExactMatch(), StringPresence()], show_progress=False)
    table = result.to_pandas()
    table.to_csv(folder / "ragas_result.csv", index=False)
    table.to_json(folder / "ragas_result.json", orient="records")
    table.to_parquet(folder / "ragas_result.parquet")
    older = {
        "user_input": "question",
        "retrieved_contexts": "contexts",
        "response": "answer",
        "reference": "ground_truth",
    }
    table.rename(columns=older).to_csv(folder / "ragas_0_1.csv", index=False)


def write_deepeval(folder: Path) -> None:
    """A run with a metric that needs no model, and the test cases as a data set."""
    with TemporaryDirectory() as work:
        os.chdir(work)
        os.environ.update(
            DEEPEVAL_TELEMETRY_OPT_OUT="YES",
            DEEPEVAL_DISABLE_DOTENV="1",
            DEEPEVAL_RESULTS_FOLDER=f"{work}/results",
        )
        from deepeval import evaluate
        from deepeval.dataset import EvaluationDataset
        from deepeval.evaluate import AsyncConfig, DisplayConfig
        from deepeval.metrics import ExactMatchMetric
        from deepeval.test_case import LLMTestCase

        cases = [
            LLMTestCase(
                name=question["id"],
                input=question["question"],
                actual_output=question["answer"],
                expected_output=question["reference"],
                context=passages(question, "relevant"),
                retrieval_context=passages(question, "retrieved"),
            )
            for question in QUESTIONS
        ]
        evaluate(
            cases,
            metrics=[ExactMatchMetric()],
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            async_config=AsyncConfig(run_async=False),
        )
        (run,) = Path("results").glob("test_run_*.json")
        shutil.copy(run, folder / "deepeval_run.json")
        data = EvaluationDataset()
        for case in cases:
            data.add_test_case(case)
        for kind in ("csv", "json", "jsonl"):
            data.save_as(kind, directory=work, file_name="cases", include_test_cases=True)
            shutil.copy(f"{work}/cases.{kind}", folder / f"deepeval_cases.{kind}")
        os.chdir(HERE)


def write_inspect(folder: Path) -> None:
    """Logs of an evaluation of the mock model, as JSON and as an archive."""
    import tiktoken

    class Words:
        """Counts tokens without the table that would be fetched."""

        def encode(self, text: str, **_: object) -> list[str]:
            return text.split()

    tiktoken.get_encoding = lambda _: Words()
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    samples = [
        Sample(
            id=question["id"],
            input=question["question"],
            target=question["reference"].rstrip("."),
            metadata={
                "retrieved_contexts": passages(question, "retrieved"),
                "reference_contexts": passages(question, "relevant"),
            },
        )
        for question in QUESTIONS
    ]
    for kind in ("json", "eval"):
        outputs = [ModelOutput.from_content("mockllm/model", one["answer"]) for one in QUESTIONS]
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        task = Task(dataset=samples, solver=generate(), scorer=includes(), name="leave")
        with TemporaryDirectory() as work:
            os.chdir(work)
            (log,) = eval(
                task, model=model, log_dir=work, log_format=kind, display="none", max_samples=1
            )
            os.chdir(HERE)
            if log.status != "success":
                raise SystemExit(f"inspect: {log.error}")
            (written,) = Path(work).glob(f"*.{kind}")
            shutil.copy(written, folder / f"inspect.{kind}")


def exported(path: Path) -> object:
    """Return a tracer whose spans go into a file of OTLP JSON lines."""
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "leave"}))
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(path)))
    return provider.get_tracer("leave")


def write_openinference(folder: Path) -> None:
    """Spans with the names of openinference-semantic-conventions; each span is a line."""
    from openinference.semconv.trace import DocumentAttributes, SpanAttributes

    tracer = exported(folder / "openinference.jsonl")
    for question in QUESTIONS:
        with tracer.start_as_current_span("answer") as root:
            root.set_attribute(SpanAttributes.OPENINFERENCE_SPAN_KIND, "CHAIN")
            root.set_attribute(SpanAttributes.INPUT_VALUE, question["question"])
            root.set_attribute(SpanAttributes.OUTPUT_VALUE, question["answer"])
            root.set_attribute(SpanAttributes.METADATA, json.dumps({"qid": question["id"]}))
            with tracer.start_as_current_span("retrieve") as span:
                span.set_attribute(SpanAttributes.OPENINFERENCE_SPAN_KIND, "RETRIEVER")
                span.set_attribute(SpanAttributes.INPUT_VALUE, question["question"])
                for rank, document in enumerate(documents(question)):
                    prefix = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.{rank}"
                    for name, key in (
                        (DocumentAttributes.DOCUMENT_ID, "id"),
                        (DocumentAttributes.DOCUMENT_CONTENT, "content"),
                        (DocumentAttributes.DOCUMENT_SCORE, "score"),
                    ):
                        span.set_attribute(f"{prefix}.{name}", document[key])
            with tracer.start_as_current_span("generate") as span:
                span.set_attribute(SpanAttributes.OPENINFERENCE_SPAN_KIND, "LLM")
                span.set_attribute(SpanAttributes.LLM_MODEL_NAME, "none")
                answered = f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.message"
                span.set_attribute(f"{answered}.role", "assistant")
                span.set_attribute(f"{answered}.content", question["answer"])


def write_gen_ai(folder: Path) -> None:
    """Spans with the names of OpenTelemetry's own conventions for generative AI."""
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai

    tracer = exported(folder / "gen_ai.jsonl")

    def message(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    for question in QUESTIONS:
        with tracer.start_as_current_span("invoke_agent leave") as root:
            root.set_attribute(gen_ai.GEN_AI_OPERATION_NAME, "invoke_agent")
            with tracer.start_as_current_span("retrieval leave") as span:
                span.set_attribute(gen_ai.GEN_AI_OPERATION_NAME, "retrieval")
                span.set_attribute("gen_ai.retrieval.query.text", question["question"])
                found = [{"id": one["id"], "score": one["score"]} for one in documents(question)]
                span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))
            with tracer.start_as_current_span("chat none") as span:
                span.set_attribute(gen_ai.GEN_AI_OPERATION_NAME, "chat")
                span.set_attribute(gen_ai.GEN_AI_REQUEST_MODEL, "none")
                span.set_attribute("gen_ai.input.messages", message("user", question["question"]))
                said = message("assistant", question["answer"])
                span.set_attribute("gen_ai.output.messages", said)
                span.add_event(
                    "gen_ai.evaluation.result",
                    {"gen_ai.evaluation.name": "grounded", "gen_ai.evaluation.score.value": 0.5},
                )


def write_langfuse(folder: Path) -> None:
    """What the SDK sends (OTLP), and what its client reads from the server (observations)."""
    from langfuse import Langfuse
    from langfuse.api import ObservationV2
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider

    exporter = FileSpanExporter(folder / "langfuse_otlp.jsonl")
    client = Langfuse(
        public_key="pk-lf-none",
        secret_key="sk-lf-none",  # noqa: S106  # No server is asked.
        host="http://127.0.0.1:9",
        tracer_provider=TracerProvider(),
        span_exporter=exporter,
    )
    observations = []
    for number, question in enumerate(QUESTIONS):
        with client.start_as_current_observation(
            name="answer", input=question["question"], metadata={"qid": question["id"]}
        ) as root:
            with root.start_as_current_observation(
                name="retrieve", as_type="retriever", input=question["question"]
            ) as found:
                found.update(output=documents(question))
            root.update(output=question["answer"])
        common = {
            "trace_id": f"trace-{number}",
            "project_id": "leave",
            "start_time": f"2026-11-02T09:0{number}:00Z",
            "end_time": f"2026-11-02T09:0{number}:01Z",
        }
        root_observation = ObservationV2(
            id=f"root-{number}",
            type="SPAN",
            name="answer",
            input=question["question"],
            output=question["answer"],
            metadata={"qid": question["id"]},
            **common,
        )
        retriever = ObservationV2(
            id=f"retrieve-{number}",
            type="RETRIEVER",
            name="retrieve",
            parent_observation_id=f"root-{number}",
            input=question["question"],
            output=documents(question),
            **common,
        )
        observations += [root_observation, retriever]
    client.flush()
    client.shutdown()
    data = [json.loads(one.model_dump_json(by_alias=True)) for one in observations]
    (folder / "langfuse.json").write_text(json.dumps({"data": data, "meta": {}}), "utf-8")


def write_ragchecker(folder: Path) -> None:
    """A results file by RAGChecker's own classes, loaded without the models that it imports."""
    from importlib import metadata

    home = Path(metadata.distribution("ragchecker").locate_file("ragchecker"))
    package = types.ModuleType("ragchecker")
    package.__path__ = [str(home)]
    sys.modules["ragchecker"] = package
    container = importlib.import_module("ragchecker.container")
    results = container.RAGResults(
        [
            container.RAGResult(
                query_id=question["id"],
                query=question["question"],
                gt_answer=question["reference"],
                response=question["answer"],
                retrieved_context=[
                    container.RetrievedDoc(doc_id=name, text=PASSAGES[name])
                    for name in question["retrieved"]
                ],
                metrics={"precision": 1.0, "recall": 0.5},
            )
            for question in QUESTIONS
        ]
    )
    (folder / "ragchecker.json").write_text(results.to_json(indent=2), "utf-8")


def write_langsmith(folder: Path) -> None:
    """The results of an experiment, the runs behind them, and the examples of its data set."""
    import datetime
    import uuid

    os.environ.update(LANGSMITH_TRACING="false")
    from langsmith import Client, schemas
    from langsmith.evaluation import evaluate
    from langsmith.run_trees import RunTree

    made = datetime.datetime(2026, 11, 2, 9, tzinfo=datetime.UTC)
    examples = [
        schemas.Example(
            id=uuid.UUID(int=number),
            dataset_id=uuid.UUID(int=99),
            inputs={"question": question["question"]},
            outputs={"answer": question["reference"], "contexts": passages(question, "relevant")},
            metadata={"qid": question["id"]},
            created_at=made,
            modified_at=made,
        )
        for number, question in enumerate(QUESTIONS)
    ]
    lines = "".join(one.model_dump_json() + "\n" for one in examples)
    (folder / "langsmith_examples.jsonl").write_text(lines, "utf-8")
    by_question = {question["question"]: question for question in QUESTIONS}

    def answer(inputs: dict) -> dict:
        question = by_question[inputs["question"]]
        found = [{"id": one["id"], "page_content": one["content"]} for one in documents(question)]
        return {"answer": question["answer"], "documents": found}

    def exact(run: object, example: object) -> dict:
        return {"key": "exact", "score": int(run.outputs["answer"] == example.outputs["answer"])}

    client = Client(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
    result = evaluate(
        answer, data=examples, evaluators=[exact], client=client, upload_results=False
    )
    table = result.to_pandas().astype({"id": str, "example_id": str})
    table.to_csv(folder / "langsmith.csv", index=False)
    table.to_json(folder / "langsmith.json", orient="records")
    runs = []
    for question in QUESTIONS:
        asked = {"question": question["question"]}
        root = RunTree(name="answer", run_type="chain", inputs=asked, client=client)
        child = root.create_child(name="retrieve", run_type="retriever", inputs=asked)
        child.end(outputs={"documents": answer(asked)["documents"]})
        root.end(outputs={"answer": question["answer"]})
        runs += [child, root]
    written = [
        run.model_dump_json(exclude={"child_runs", "client", "parent_run"}) + "\n" for run in runs
    ]
    (folder / "langsmith_runs.jsonl").write_text("".join(written), "utf-8")


def write_braintrust(folder: Path) -> None:
    """The results of an evaluation that is not sent anywhere."""
    from braintrust import Eval, EvalCase

    by_question = {question["question"]: question for question in QUESTIONS}

    def answer(asked: str, hooks: object) -> str:
        hooks.metadata["contexts"] = [
            {"id": one["id"], "content": one["content"]} for one in documents(by_question[asked])
        ]
        return by_question[asked]["answer"]

    def exact(input: str, output: str, expected: str) -> float:
        return float(output == expected)

    result = Eval(
        "leave",
        data=lambda: [
            EvalCase(
                input=question["question"],
                expected=question["reference"],
                metadata={"qid": question["id"]},
            )
            for question in QUESTIONS
        ],
        task=answer,
        scores=[exact],
        no_send_logs=True,
    )
    lines = "".join(json.dumps(one.as_dict()) + "\n" for one in result.results)
    (folder / "braintrust.jsonl").write_text(lines, "utf-8")


def write_trulens(folder: Path) -> None:
    """The records of an application in a database of its own, and the events behind them."""
    os.environ["TRULENS_OTEL_TRACING"] = "1"
    from trulens.apps.app import TruApp
    from trulens.core import TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    by_question = {question["question"]: question for question in QUESTIONS}

    class Leave:
        @instrument(
            span_type=SpanAttributes.SpanType.RETRIEVAL,
            attributes={
                SpanAttributes.RETRIEVAL.QUERY_TEXT: "asked",
                SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
            },
        )
        def retrieve(self, asked: str) -> list[str]:
            return passages(by_question[asked], "retrieved")

        @instrument()
        def answer(self, asked: str) -> str:
            self.retrieve(asked)
            return by_question[asked]["answer"]

    with TemporaryDirectory() as work:
        session = TruSession(database_url=f"sqlite:///{work}/trulens.sqlite")
        leave = Leave()
        application = TruApp(leave, app_name="leave", app_version="1", main_method=leave.answer)
        with application:
            for question in QUESTIONS:
                leave.answer(question["question"])
        session.force_flush()
        table, _ = session.get_records_and_feedback()
        table.to_csv(folder / "trulens.csv", index=False)
        events = session.get_events(app_name="leave", app_version="1")
        events["record_type"] = events["record_type"].astype(str)
        events.to_json(folder / "trulens_events.json", orient="records")


def write_mlflow(folder: Path) -> None:
    """The table of an evaluation with traces, and a table that was logged."""
    import mlflow
    from mlflow.entities import Document
    from mlflow.genai import scorer

    by_question = {question["question"]: question for question in QUESTIONS}

    @scorer
    def exact(outputs: str, expectations: dict) -> bool:
        return outputs == expectations["expected_response"]

    @mlflow.trace(span_type="RETRIEVER")
    def retrieve(question: str) -> list[Document]:
        found = documents(by_question[question])
        return [Document(id=one["id"], page_content=one["content"]) for one in found]

    @mlflow.trace
    def answer(question: str) -> str:
        retrieve(question)
        return by_question[question]["answer"]

    with TemporaryDirectory() as work:
        os.chdir(work)
        mlflow.set_tracking_uri(f"sqlite:///{work}/mlflow.db")
        mlflow.set_experiment("leave")
        data = [
            {
                "inputs": {"question": question["question"]},
                "expectations": {"expected_response": question["reference"]},
            }
            for question in QUESTIONS
        ]
        result = mlflow.genai.evaluate(data=data, predict_fn=answer, scorers=[exact])
        # These columns name the machine and its user.
        table = result.tables["eval_results"].drop(
            columns=["trace", "trace_metadata", "tags", "assessments"]
        )
        table.to_json(folder / "mlflow.json", orient="records")
        columns = {
            "inputs": [question["question"] for question in QUESTIONS],
            "ground_truth": [question["reference"] for question in QUESTIONS],
            "outputs": [question["answer"] for question in QUESTIONS],
            "contexts": [passages(question, "retrieved") for question in QUESTIONS],
            "exact_match/v1/score": [0.0, 0.0, 0.0, 1.0],
        }
        with mlflow.start_run() as run:
            mlflow.log_table(columns, artifact_file="eval_results_table.json")
        written = mlflow.artifacts.download_artifacts(
            run_id=run.info.run_id, artifact_path="eval_results_table.json"
        )
        shutil.copy(written, folder / "mlflow_table.json")
        os.chdir(HERE)


def write_haystack(folder: Path) -> None:
    """Answers of the answer builder, and a detailed report."""
    from haystack.components.builders import AnswerBuilder
    from haystack.dataclasses import Document
    from haystack.evaluation import EvaluationRunResult

    answers = []
    for question in QUESTIONS:
        found = [Document(id=one["id"], content=one["content"]) for one in documents(question)]
        built = AnswerBuilder().run(
            query=question["question"], replies=[question["answer"]], documents=found
        )
        answers += [answer.to_dict() for answer in built["answers"]]
    text = json.dumps({"answer_builder": {"answers": answers}})
    (folder / "haystack_answers.json").write_text(text, "utf-8")
    report = EvaluationRunResult(
        "leave",
        inputs={
            "question": [question["question"] for question in QUESTIONS],
            "contexts": [passages(question, "retrieved") for question in QUESTIONS],
            "answer": [question["reference"] for question in QUESTIONS],
            "predicted_answer": [question["answer"] for question in QUESTIONS],
        },
        results={"exact_match": {"individual_scores": [0.0, 0.0, 0.0, 1.0], "score": 0.25}},
    )
    report.detailed_report(output_format="csv", csv_file=str(folder / "haystack_report.csv"))
    text = json.dumps(report.detailed_report(output_format="json"))
    (folder / "haystack_report.json").write_text(text, "utf-8")


def write_llamaindex(folder: Path) -> None:
    """The results of a batch of two evaluators that need no model."""
    from llama_index.core.evaluation import EvaluationResult

    results = {
        name: [
            EvaluationResult(
                query=question["question"],
                contexts=passages(question, "retrieved"),
                response=question["answer"],
                passing=score > 0.5,
                score=score,
            ).model_dump()
            for question in QUESTIONS
        ]
        for name, score in (("faithfulness", 1.0), ("relevancy", 0.0))
    }
    (folder / "llamaindex.json").write_text(json.dumps(results), "utf-8")


def write_huggingface(folder: Path) -> None:
    """A data set that was saved to disk, and one of its Arrow files."""
    from datasets import Dataset

    rows = [
        {
            "id": question["id"],
            "question": question["question"],
            "answer": question["answer"],
            "reference": question["reference"],
            "passages": [{"id": one["id"], "text": one["content"]} for one in documents(question)],
        }
        for question in QUESTIONS
    ]
    Dataset.from_list(rows).save_to_disk(folder / "huggingface", num_shards=2)
    Dataset.from_list(rows).to_parquet(folder / "huggingface.parquet")


def write_promptfoo_config(folder: Path) -> None:
    """The input of promptfoo: the echo provider returns the given answer."""
    tests = [
        {
            "description": question["id"],
            "vars": {
                "question": question["question"],
                "context": passages(question, "retrieved"),
                "answer": question["answer"],
            },
            "options": {"disableVarExpansion": True},
            "assert": [{"type": "icontains", "value": question["reference"].rstrip(".")}],
        }
        for question in QUESTIONS
    ]
    config = {"prompts": ["{{answer}}"], "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")


def scrub(path: Path) -> None:
    """Remove machine-specific values from a text file; the other files have none."""
    if path.is_dir() or path.suffix in (".parquet", ".eval"):
        return
    text = path.read_bytes().decode()
    text = re.sub(r"/(?:home|root|Users|work|opt|tmp|private|var)/[^\s\"',)\\]*", "elsewhere", text)
    path.write_bytes(re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "somewhere", text).encode())


WRITERS = {
    name.removeprefix("write_"): made
    for name, made in sorted(globals().items())
    if name.startswith("write_")
}

if __name__ == "__main__":
    tool, place = sys.argv[1], Path(sys.argv[2]).resolve()
    if tool != "scrub":
        WRITERS[tool](place)
    for file in place.iterdir():
        scrub(file)
