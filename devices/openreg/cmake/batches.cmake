# Files that need the same headers of torch are compiled together: reading those
# costs more than compiling what is in any one of them. A file that no batch
# names is compiled by itself.
#
# A batch is a generated file that includes its members by relative paths, which
# the same text has in every folder: ccache can serve it.
set(BATCH_python Autocast CompiledKernels Generator Module SharedStorage ops/OperatorCounts
    distributed/ReducerTimer distributed/StagedBackend distributed/StagedWork)
set(BATCH_kernels ops/Activation ops/Attention ops/Comparison ops/Convolution ops/MatrixProduct
    ops/Pointwise ops/RecurrentCells ops/Reduction)
set(BATCH_device ActivityProfiler BackendMeta DeviceAllocator DeviceGuard Hooks Runtime Storage Streams
    ops/ArgumentDevices ops/Claim ops/Copy ops/DeviceCheck ops/Dropout ops/Factories ops/Fallback ops/Fill
    ops/HostViews ops/Launch ops/Layouts ops/Lists ops/Nested ops/Quantized
    ops/RecordStream ops/Results ops/SetAndResize ops/ShallowCopy ops/Sparse ops/Views)

# Sets `variable` to what is to be compiled for `sources`, such as csrc/Hooks.cpp.
function(openreg_batches variable sources)
  set(alone ${sources})
  set(batches)
  foreach(name python kernels device)
    set(text)
    foreach(member ${BATCH_${name}})
      set(source csrc/${member}.cpp)
      if(source IN_LIST sources)
        string(APPEND text "#include \"${source}\"\n")
        list(REMOVE_ITEM alone ${source})
      endif()
    endforeach()
    if(text)
      file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cpp CONTENT "${text}" @ONLY)
      list(APPEND batches ${CMAKE_CURRENT_BINARY_DIR}/generated/${name}.cpp)
    endif()
  endforeach()
  # The longest first.
  set(${variable} ${batches} ${alone} PARENT_SCOPE)
endfunction()
