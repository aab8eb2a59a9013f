"""Python imports this by its name when it starts with this folder on PYTHONPATH."""

import loopback_only  # noqa: F401 - importing it is what guards the process
