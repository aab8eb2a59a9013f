"""Output formats: every result as text, JSON, HTML, PDF, Markdown, JUnit or SARIF."""
