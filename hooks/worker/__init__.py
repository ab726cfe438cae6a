"""What happens by itself after a failed job: the queue is drained, each failure becomes one report and one mail."""
