"""The only place that joins stages: nightly, device run, bisect, review, and what they share."""
