"""Telemetry: runs as OpenTelemetry spans and events, and spans as runs."""
