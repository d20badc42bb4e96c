"""The stages of a nightly: each a function from files to files. They never import each other."""
