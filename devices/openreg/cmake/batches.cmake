# Files that need the same headers of torch are compiled together: reading those
# costs more than compiling what is in any one of them. A file that no batch
# names is compiled by itself.
#
# A batch is a generated file that includes its members by relative paths, which
# the same text has in every folder: ccache can serve it.
set(BATCH_device ActivityProfiler BackendMeta DeviceAllocator DeviceGuard Hooks Runtime Storage Streams)
set(BATCH_python CompiledKernels Generator Module SharedStorage ops/OperatorCounts)
set(BATCH_distributed distributed/ReducerTimer distributed/StagedBackend distributed/StagedWork)
set(BATCH_arithmetic ops/Comparison ops/MatrixProduct ops/Reduction)
set(BATCH_pointwise ops/Activation ops/Pointwise)
set(BATCH_memory ops/Copy ops/Factories ops/Fill ops/RecordStream ops/SetAndResize
    ops/ShallowCopy ops/Views)
set(BATCH_models ops/Attention ops/Convolution ops/RecurrentCells)
set(BATCH_fallback ops/ArgumentDevices ops/DeviceCheck ops/Fallback ops/HostRandom ops/HostViews ops/Launch ops/Results)
set(BATCH_layouts ops/Claim ops/Layouts ops/Lists ops/Nested ops/Quantized ops/Sparse)

# Sets `variable` to what is to be compiled for `sources`, such as csrc/Hooks.cpp.
function(openreg_batches variable sources)
  set(alone ${sources})
  set(batches)
  foreach(name device python distributed arithmetic pointwise memory models fallback layouts)
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
  # The longest first: Autocast.cpp, which is alone.
  set(${variable} ${alone} ${batches} PARENT_SCOPE)
endfunction()
