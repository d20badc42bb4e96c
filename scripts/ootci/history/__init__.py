"""The store of past nightlies and runs: append-only facts from which everything else can be derived again."""
