"""Frozen data, validated once at the border: devices, and the files in which the stages meet."""
