__version__ = "STUB_VERSION"
debug = False
cuda = None
hip = None
git_version = "STUB_COMMIT"
