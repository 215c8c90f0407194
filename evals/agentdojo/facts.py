"""What of AgentDojo is measured here; readable where it is not installed."""

from __future__ import annotations

PACKAGE = "agentdojo==0.1.35"
VERSION = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")
HELD_OUT = "travel"
"""The suite that nobody looked at while the policy was designed."""
