"""What goes wrong, in the words of those who notice: errors of PyTorch, of plugins, of builds and of machines.

Names in braces differ between devices and nights; what is written out is what a cause has in common everywhere. Each
vendor has a `{word}` of its own, as vendors do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One thing that goes wrong.

    Attributes:
        error: the exception, with its class.
        frames: where in torch it was raised, outermost first: file, function, source line.
        about: the capabilities in whose tests it is seen; any others when empty.

    """

    error: str
    frames: tuple[tuple[str, str, str], ...] = ()
    about: tuple[str, ...] = ()


_CLOSE = """AssertionError: Tensor-likes are not close!

Mismatched elements: {some} / {many} ({percent}%)
Greatest absolute difference: {difference} at index ({small}, {card}) (up to 1e-05 allowed)
Greatest relative difference: {ratio} at index ({small}, {card}) (up to 1.3e-06 allowed)"""

UPSTREAM = (
    Cause(
        "NotImplementedError: Could not run 'aten::_foreach_norm.Scalar' with arguments from the 'PrivateUse1' "
        "backend. '_foreach_norm.Scalar' is only available for these backends: [CPU, CUDA, Meta].",
        (("torch/nn/utils/clip_grad.py", "_get_total_norm", "norms.extend(torch._foreach_norm(device_tensors))"),),
        ("optimizers", "training", "modules"),
    ),
    Cause(
        "RuntimeError: !storage.is_resizable() INTERNAL ASSERT FAILED at "
        '"/pytorch/aten/src/ATen/native/Resize.cpp":{line}, please report a bug to PyTorch. '
        "Got a storage at {address} on {device}:{card}",
        (("torch/_tensor.py", "__deepcopy__", "new_storage = self._typed_storage()._deepcopy(memo)"),),
        ("tensors", "memory", "pinned_memory", "mixed_devices"),
    ),
    Cause(
        "AttributeError: module 'torch.{device}' has no attribute '_is_in_bad_fork'",
        (("torch/random.py", "manual_seed", "if not getattr(torch, device).is_in_bad_fork():"),),
        ("rng", "multiprocessing", "registration", "autoload"),
    ),
    Cause(
        "TypeError: DeviceGuardImplInterface.record() missing 1 required positional argument: 'flag' "
        "(event {address}, card {card})",
        (("torch/accelerator/__init__.py", "record_event", "stream.record_event(event)"),),
        ("streams_events", "profiler", "device"),
    ),
    Cause(
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "KeyError: '{device}' is not among the devices with a scheduling",
        (
            ("torch/_dynamo/output_graph.py", "call_user_compiler", "compiled_fn = compiler_fn(gm, example_inputs)"),
            ("torch/_inductor/scheduler.py", "create_backend", "raise KeyError(device)"),
        ),
        ("compile",),
    ),
    Cause(
        "RuntimeError: Attempting to deserialize object on {device}:{card} but torch.serialization found no "
        "deserializer for its location tag",
        (("torch/serialization.py", "restore_location", "return default_restore_location(storage, location)"),),
        ("serialization", "checkpoint"),
    ),
    Cause(
        "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans "
        "across two contiguous subspaces). Storage {address}, offset {small}",
        (("torch/_refs/__init__.py", "view", "return _reshape_view_helper(a, *shape, allow_copy=False)"),),
        ("views", "autograd", "nested"),
    ),
    Cause(
        "AssertionError: expected the autocast dtype torch.bfloat16 of {device}, got None",
        (("torch/amp/autocast_mode.py", "__init__", "assert self.fast_dtype is not None"),),
        ("amp",),
    ),
    Cause(
        "RuntimeError: Expected a '{device}' device type for generator but found 'cpu'",
        (("torch/utils/data/sampler.py", "__iter__", "yield from torch.randperm(n, generator=generator).tolist()"),),
        ("dataloader",),
    ),
    Cause(
        "IndexError: DTensor's mesh has {small} dimensions, the placements name {card}",
        (("torch/distributed/tensor/_api.py", "from_local", "return _FromTorchTensor.apply(local, mesh, placements)"),),
        ("distributed",),
    ),
    Cause(
        "RuntimeError: 0 <= device.index() && device.index() < c10::DeviceIndex(device_ready_queues_.size()) INTERNAL "
        'ASSERT FAILED at "/pytorch/torch/csrc/autograd/engine.cpp":{line}, please report a bug to PyTorch.',
        (("torch/autograd/graph.py", "_engine_run_backward", "return Variable._execution_engine.run_backward("),),
    ),
    Cause(
        "RuntimeError: Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor) at {address}",
        (("torch/_ops.py", "__call__", "return self._op(*args, **kwargs)"),),
    ),
    Cause(
        "NotImplementedError: There was no fallback registered for {device}: the dispatch key is PrivateUse1",
        (("torch/_library/custom_ops.py", "backend_impl", "return self._backend_fns[device_type](*args, **kwargs)"),),
    ),
)
PLUGIN = (
    Cause("RuntimeError: {device}rt error 719: unspecified launch failure in {word} {small} of card {card}"),
    Cause("RuntimeError: {device}: the kernel image does not contain `strided_copy_{word}`"),
    Cause(_CLOSE),
    Cause(
        "RuntimeError: {device}: out of memory. The {word} allocator wanted {some} MiB (card {card}; {many} MiB free)"
    ),
    Cause("ValueError: {word} priority {small} is not in [-1, 0]"),
    Cause("AssertionError: Scalars are not equal!\n\nExpected {some} but got {many}."),
    Cause("OSError: lib{device}rt.so.{small}: undefined symbol: {word}EventCreateWithFlags_v2"),
    Cause("RuntimeError: {device}: the {word} allocator returned {address}, which is in use by stream {small}"),
)
FLAKY = (
    Cause("AssertionError: the event measured {difference} s, not about {ratio} s", about=("streams_events",)),
    Cause("RuntimeError: {device}: event {address} was not reached within 30 s"),
    Cause("RuntimeError: {device}: the watchdog of queue {small} did not answer"),
    Cause(_CLOSE),
)
OWN_WORDS = (
    Cause("RuntimeError: {device}: {word} {small} rejected the descriptor of operand {card}"),
    Cause("ValueError: the {word} compiler knows no layout for {some} elements"),
    Cause("AssertionError: {device}: the hook of the {word} was not called"),
    Cause("TypeError: {word}_launch() takes {small} arguments on {device}"),
)
"""For one thing that PyTorch broke: each plugin notices it elsewhere."""
NETWORK = (
    Cause("ConnectionRefusedError: [Errno 111] Connection refused"),
    Cause(
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='mirror.{device}.example', port=443): Max "
        "retries exceeded with url: /weights (Caused by NewConnectionError('Failed to establish a new connection: "
        "[Errno 111] Connection refused'))"
    ),
    Cause("RuntimeError: {device}: the licence server licence.{device}.example:27000 cannot be reached: timed out"),
    Cause("socket.gaierror: [Errno -3] Temporary failure in name resolution"),
)
UPSTREAM_BUILD = (
    "error: no member named 'getDefaultGenerator' in 'at::PrivateUse1HooksInterface'",
    "error: 'recordDataPtrOnStream' marked 'override', but does not override any member functions",
    "error: use of undeclared identifier 'C10_REGISTER_GUARD_IMPL'; did you mean 'C10_REGISTER_GUARD_IMPLEMENTATION'?",
)
PLUGIN_BUILD = (
    "error: no matching function for call to '{word}Malloc'",
    "fatal error: {word}/runtime_api.h: No such file or directory",
    "error: static assertion failed: a {word} needs alignment of {some} bytes",
)
UPSTREAM_IMPORT = (
    "ImportError: {site}/torch_{device}/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112"
    "basic_stringIcSt11char_traitsIcESaIcEEE",
    "AttributeError: module 'torch.utils.backend_registration' has no attribute '_setup_privateuseone'",
)
PLUGIN_IMPORT = (
    "OSError: lib{word}rt.so.{small}: cannot open shared object file: No such file or directory",
    "ModuleNotFoundError: No module named 'torch_{device}._version'",
)
FETCH = (
    "torch {torch} cannot be installed: the index answered 503 (Service Unavailable)",
    "torch {torch} cannot be installed: no space left on device",
)
CHECK = (
    "0 cards found, {cards} expected",
    "the check command `{device}-smi --list` failed: exit code 255",
    "torch knows the device {device}, but it is not available here.",
)
