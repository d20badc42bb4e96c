"""Test files in the form of PyTorch's own: what a checkout of it is made of here, since the real one is large."""

THINGS = """
import os
import unittest

import torch
from neighbour import VALUE
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, onlyCUDA
from torch.testing._internal.common_utils import TestCase, parametrize, run_tests


class TestThings(TestCase):
    @dtypes(torch.float32, torch.int64)
    def test_add(self, device, dtype):
        there = torch.ones(2, device=device, dtype=dtype)
        self.assertEqual(there + there, torch.full((2,), VALUE, device=device, dtype=dtype))
        self.assertEqual(there.device.type, os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"])

    @onlyCUDA
    def test_cuda_only(self, device):
        pass

    @parametrize("count", [1, 2])
    def test_param(self, device, count):
        self.assertEqual(torch.ones(count, device=device).sum().item(), count)

    def test_fail(self, device):
        self.assertEqual(torch.ones(2, device=device).sum().item(), 3)

    @unittest.expectedFailure
    def test_expected_failure(self, device):
        self.fail()


class TestPlain(TestCase):
    def test_plain(self):
        pass


class TestElsewhere(TestCase):
    def test_elsewhere(self, device):
        pass


instantiate_device_type_tests(TestThings, globals())
instantiate_device_type_tests(TestElsewhere, globals(), only_for="cuda")

if __name__ == "__main__":
    run_tests()
"""
MORE = """
import torch
from beside import NAMES
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase


class TestMore(TestCase):
    @ops([op for op in op_db if op.name in NAMES], allowed_dtypes=(torch.float32,))
    def test_op(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            op(sample.input, *sample.args, **sample.kwargs)


instantiate_device_type_tests(TestMore, globals())
"""
SMALL = """
import os, time
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase

class TestSmall(TestCase):
    def test_one(self, device):
        {body}

    def test_two(self, device):
        pass

{head}
instantiate_device_type_tests(TestSmall, globals())
"""
RENAMED = """
from neighbour import VALUE
from torch.testing._internal.common_device_type import instantiate_device_type_tests as make
from torch.testing._internal.common_utils import TestCase

class TestRenamed(TestCase):
    def test_value(self, device):
        from neighbour import VALUE as late
        self.assertEqual((VALUE, late), ({0}, {0}))

make(TestRenamed, globals())
"""
LABELS = """
import enum

from torch.testing._internal import common_utils

common_utils.HardwareClassification = enum.Enum("HardwareClassification", ["ACCELERATOR", "CUDA"])
common_utils.get_hw_classification = lambda made: getattr(made, "hw_classification", None)
"""
LABELLED = """
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import HardwareClassification, TestCase

class TestLabelled(TestCase):
    hw_classification = HardwareClassification.ACCELERATOR

    def test_one(self, device):
        pass

class TestCuda(TestCase):
    hw_classification = HardwareClassification.CUDA

    def test_one(self, device):
        pass

class TestUnlabelled(TestCase):
    def test_one(self, device):
        pass

for name in ("TestLabelled", "TestCuda", "TestUnlabelled"):
    instantiate_device_type_tests(globals()[name], globals())
"""
SECOND_BASE = """
class Again(DeviceTypeTestBase):
    device_type = "cpu"

TEST_CLASS = Again
"""
