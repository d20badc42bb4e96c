"""What runs the stages for a person or a workflow: arguments in, exit code out."""
