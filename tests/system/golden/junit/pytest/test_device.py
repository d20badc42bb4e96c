import pytest


def test_good():
    pass


def test_bad():
    assert 1 == 2


@pytest.fixture
def broken():
    raise OSError("no card")


@pytest.fixture
def leaves():
    yield
    raise OSError("no end")


def test_setup(broken):
    pass


def test_teardown(leaves):
    pass


def test_skip():
    pytest.skip("no card")


@pytest.mark.xfail(reason="known")
def test_xfail():
    raise AssertionError


@pytest.mark.xfail(reason="known", strict=True)
def test_xpass_strict():
    pass


@pytest.mark.parametrize("name", ["<b>", "a&b", "\xe9"])
def test_names(name):
    pass


class TestGroup:
    def test_inside(self):
        pass
