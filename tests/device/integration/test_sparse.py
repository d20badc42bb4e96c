"""Sparse layouts."""

from __future__ import annotations

import pytest
import torch

from harness.compare import assert_matches, assert_on, numbers, put
from harness.outcomes import unsupported

pytestmark = [
    pytest.mark.capability("sparse"),
    # torch itself calls the compressed layouts beta.
    pytest.mark.filterwarnings("ignore:Sparse:UserWarning"),
]


def _dense() -> torch.Tensor:
    values = numbers(5, 6)
    values[values.abs() < 0.8] = 0
    return values


@pytest.fixture(autouse=True)
def _supported(device: torch.device) -> None:
    """Sparse layouts are optional: a device without them raises torch's own error for a missing kernel."""
    try:
        torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.int64), torch.ones(1), (2,), device=device)
    except NotImplementedError as error:
        unsupported(f"torch has no sparse tensors on this device: {error}")


def test_coordinates_round_trip(device: torch.device) -> None:
    """A dense tensor becomes sparse on the device and dense again, and goes to the cpu in either form."""
    dense = _dense()
    sparse = put(dense, device).to_sparse()
    assert sparse.device == device
    assert_on(sparse.indices(), device)
    assert_on(sparse.values(), device)
    assert_matches(sparse.to_dense(), dense, device)
    assert torch.equal(sparse.cpu().to_dense(), dense)
    assert_matches(dense.to_sparse().to(device).to_dense(), dense, device)


def test_duplicate_coordinates_are_summed(device: torch.device) -> None:
    """`coalesce` sums elements of the same place."""
    indices = put(torch.tensor([[0, 2, 0], [1, 0, 1]]), device)
    sparse = torch.sparse_coo_tensor(indices, put(torch.tensor([1.0, 2.0, 3.0]), device), (3, 2))
    merged = sparse.coalesce()
    assert merged._nnz() == 2
    assert_matches(merged.to_dense(), torch.tensor([[0.0, 4.0], [0.0, 0.0], [2.0, 0.0]]), device)


def test_sparse_arithmetic(device: torch.device) -> None:
    """Sums and products of sparse tensors equal those of dense ones."""
    dense = _dense()
    sparse = put(dense, device).to_sparse()
    other = numbers(6, 3, seed=4)
    assert_matches((sparse + sparse).to_dense(), dense * 2, device)
    assert_matches((sparse * 3).to_dense(), dense * 3, device)
    assert_matches(torch.sparse.mm(sparse, put(other, device)), dense @ other, device)
    assert_matches(torch.sparse.sum(sparse), dense.sum(), device)


def test_compressed_rows(device: torch.device) -> None:
    """A dense tensor becomes compressed by rows and dense again, and can be multiplied."""
    dense = _dense()
    try:
        compressed = put(dense, device).to_sparse_csr()
    except NotImplementedError as error:
        unsupported(f"torch has no compressed sparse tensors on this device: {error}")
    assert_on(compressed.values(), device)
    assert_matches(compressed.to_dense(), dense, device)
    assert_matches(compressed @ put(numbers(6, 3, seed=4), device), dense @ numbers(6, 3, seed=4), device)


def test_gradient_of_a_sparse_product(device: torch.device) -> None:
    """The gradient of a product with a sparse matrix equals the cpu's."""

    def gradient(where: torch.device) -> torch.Tensor:
        sparse = put(_dense(), where).to_sparse()
        leaf = put(numbers(6, 3), where).requires_grad_()
        torch.sparse.mm(sparse, leaf).square().sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    assert_matches(gradient(device), gradient(torch.device("cpu")), device)
