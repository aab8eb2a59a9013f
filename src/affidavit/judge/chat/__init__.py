"""Any chat model behind an OpenAI-compatible server, as a judge that must show its quote."""
