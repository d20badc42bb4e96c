__version__ = "STUB_VERSION"
debug = False
cuda = None
hip = None
git_version = "0123456789abcdef0123456789abcdef01234567"
