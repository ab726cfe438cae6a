"""Job id -> evidence on one clock: what happened, on which host, and when at the earliest and the latest."""

__version__ = "0.1.0"
