"""Two tests of two capabilities."""

import os

import pytest

if os.environ.get("FAKE_BEHAVIOUR") != "no-tests":

    @pytest.mark.capability("views")
    def test_views(device_module):
        """A view shares its storage."""
        assert device_module.act("views")

    @pytest.mark.capability("autograd")
    def test_autograd(device_module):
        """Gradients arrive."""
        assert device_module.act("autograd")
