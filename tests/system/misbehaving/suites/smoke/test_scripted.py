"""Three tests whose middle one goes as the device file says."""

import os

import pytest

if os.environ.get("FAKE_BEHAVIOUR") != "no-tests":

    @pytest.mark.capability("registration")
    def test_first(device_module):
        """The device answers at all."""
        assert device_module.act("first")

    @pytest.mark.capability("registration")
    def test_second(device_module):
        """The device answers a second time."""
        assert device_module.act("second")

    @pytest.mark.capability("registration")
    def test_third(device_module):
        """The device still answers after that."""
        assert device_module.act("third")
