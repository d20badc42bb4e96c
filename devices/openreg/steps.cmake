# The plugin in steps, in the order in which one would write it. Each step names
# the files that it adds, and the capabilities that its tests then find whole.
#
# `-D OPENREG_STEP=n` builds the first n steps, and all are built without it:
#   pip install --no-build-isolation -C cmake.define.OPENREG_STEP=1 devices/openreg

set(OPENREG_FILES)
set(OPENREG_FILES_OF_ALL_STEPS)
set(OPENREG_STEPS 0)

macro(openreg_step title)
  cmake_parse_arguments(STEP "" "" "CAPABILITIES;FILES" ${ARGN})
  math(EXPR OPENREG_STEPS "${OPENREG_STEPS} + 1")
  list(APPEND OPENREG_FILES_OF_ALL_STEPS ${STEP_FILES})
  if(NOT OPENREG_STEP OR NOT OPENREG_STEPS GREATER OPENREG_STEP)
    list(APPEND OPENREG_FILES ${STEP_FILES})
    set(OPENREG_LAST_STEP "${OPENREG_STEPS}: ${title}")
  endif()
endmacro()

openreg_step("The smallest plugin that passes the suite smoke"
  CAPABILITIES autoload device tensors views interop
  FILES
    csrc/Runtime.cpp
    csrc/Module.cpp
    csrc/Streams.cpp
    csrc/DeviceGuard.cpp
    csrc/Hooks.cpp
    csrc/DeviceAllocator.cpp
    csrc/Storage.cpp
    csrc/Generator.cpp
    csrc/ops/Copy.cpp
    csrc/ops/SetAndResize.cpp
    csrc/ops/Launch.cpp
    csrc/ops/HostViews.cpp
    csrc/ops/Layouts.cpp
    csrc/ops/Results.cpp
    csrc/ops/ArgumentDevices.cpp
    csrc/ops/Dropout.cpp
    csrc/ops/OperatorCounts.cpp
    csrc/ops/Fallback.cpp
    torch_openreg/__init__.py
    torch_openreg/_registration.py
    torch_openreg/startup/__init__.py
    torch_openreg/openreg/__init__.py
    torch_openreg/openreg/device.py
    torch_openreg/openreg/random.py)

openreg_step("Factories"
  CAPABILITIES autograd
  FILES csrc/ops/Factories.cpp)

openreg_step("Operands on different devices"
  CAPABILITIES mixed_devices rng
  FILES csrc/ops/DeviceCheck.cpp)

openreg_step("Modules and optimizers"
  CAPABILITIES modules optimizers
  FILES
    csrc/ops/ShallowCopy.cpp
    csrc/ops/Convolution.cpp
    csrc/ops/RecurrentCells.cpp
    csrc/ops/Lists.cpp)

openreg_step("Pinned memory"
  CAPABILITIES memory pinned_memory dataloader
  FILES csrc/HostAllocator.cpp)

openreg_step("Streams"
  CAPABILITIES streams_events
  FILES
    csrc/ops/RecordStream.cpp
    torch_openreg/openreg/streams.py)

openreg_step("Native kernels"
  CAPABILITIES ops
  FILES
    csrc/ops/Views.cpp
    csrc/ops/Fill.cpp
    csrc/ops/Pointwise.cpp
    csrc/ops/Comparison.cpp
    csrc/ops/Activation.cpp
    csrc/ops/Reduction.cpp
    csrc/ops/MatrixProduct.cpp
    csrc/ops/Attention.cpp
    torch_openreg/openreg/operators.py)

openreg_step("Autocast and gradient scaling"
  CAPABILITIES amp registration training
  FILES
    csrc/Autocast.cpp
    torch_openreg/openreg/amp.py)

openreg_step("Checkpoints"
  CAPABILITIES checkpoint serialization
  FILES
    csrc/BackendMeta.cpp
    torch_openreg/openreg/checkpoint.py)

openreg_step("Tensors between processes"
  CAPABILITIES multiprocessing
  FILES
    csrc/SharedStorage.cpp
    torch_openreg/startup/multiprocessing.py)

openreg_step("Quantized tensors"
  CAPABILITIES quantization
  FILES
    csrc/ops/Claim.cpp
    csrc/ops/Quantized.cpp)

openreg_step("Sparse tensors"
  CAPABILITIES sparse
  FILES csrc/ops/Sparse.cpp)

openreg_step("Nested tensors"
  CAPABILITIES nested
  FILES csrc/ops/Nested.cpp)

openreg_step("Collectives"
  CAPABILITIES distributed
  FILES
    csrc/distributed/StagedBackend.cpp
    csrc/distributed/StagedWork.cpp
    csrc/distributed/ReducerTimer.cpp
    torch_openreg/startup/distributed.py)

openreg_step("torch.compile"
  CAPABILITIES compile
  FILES
    csrc/CompiledKernels.cpp
    torch_openreg/device_interface.py
    torch_openreg/inductor.py
    torch_openreg/startup/dynamo.py
    torch_openreg/openreg/compile.py)

openreg_step("The profiler"
  CAPABILITIES profiler
  FILES
    csrc/ActivityProfiler.cpp
    csrc/ProfilerStubs.cpp)

openreg_step("Names outside the capabilities"
  FILES
    torch_openreg/openreg/memory.py
    torch_openreg/openreg/faults.py)

message(STATUS "openreg: built up to step ${OPENREG_LAST_STEP}")
# The choice holds for this time only: a later plain build has every step again.
unset(OPENREG_STEP CACHE)

file(GLOB_RECURSE OPENREG_FOUND CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} csrc/*.cpp torch_openreg/*.py)
list(REMOVE_ITEM OPENREG_FOUND ${OPENREG_FILES_OF_ALL_STEPS})
if(OPENREG_FOUND)
  message(FATAL_ERROR "These files belong to no step: ${OPENREG_FOUND}. Name them in steps.cmake.")
endif()

set(OPENREG_SOURCES ${OPENREG_FILES})
list(FILTER OPENREG_SOURCES INCLUDE REGEX "\\.cpp$")
set(OPENREG_PYTHON ${OPENREG_FILES})
list(FILTER OPENREG_PYTHON INCLUDE REGEX "\\.py$")
