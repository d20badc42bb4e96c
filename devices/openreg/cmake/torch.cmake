# The torch to build against: the one that this Python would import. It is found
# without being imported, and without its own CMake package, which wants the
# CUDA toolkit when torch was built with CUDA, and takes longer than our link.
if(NOT OPENREG_TORCH_INCLUDE)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result ERROR_QUIET)
  if(NOT result EQUAL 0 OR NOT EXISTS "${folder}/version.py")
    message(FATAL_ERROR "${Python_EXECUTABLE} has no torch. Install torch there, and build with --no-build-isolation.")
  endif()
  set(torch_include "${folder}/include")
  set(torch_libraries)
  foreach(name torch torch_cpu c10 torch_python)
    if(NOT EXISTS "${folder}/lib/lib${name}.so")
      message(FATAL_ERROR "${folder}/lib has no lib${name}.so. Install torch again.")
    endif()
    list(APPEND torch_libraries "${folder}/lib/lib${name}.so")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/version.py")
  # Another torch in the same folder is another compile command: installers may
  # give its headers times that are older than our objects.
  file(SHA256 "${folder}/version.py" torch_build)
  string(SUBSTRING ${torch_build} 0 16 torch_build)
else()
  set(torch_include "${OPENREG_TORCH_INCLUDE}")
  set(torch_build 0)
endif()

# A link in the build folder, so that no command and no object depends on where
# torch is installed: ccache then serves any environment.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR})
file(CREATE_LINK "${torch_include}" ${CMAKE_BINARY_DIR}/torch SYMBOLIC)

add_library(openreg_torch INTERFACE)
target_compile_options(openreg_torch INTERFACE
  "SHELL:-isystem torch" "SHELL:-isystem torch/torch/csrc/api/include" "SHELL:-isystem torch/kineto")
# Headers that include the operators they use, instead of all 2,500.
target_compile_definitions(openreg_torch INTERFACE AT_PER_OPERATOR_HEADERS USE_KINETO FMT_HEADER_ONLY
  OPENREG_TORCH_BUILD=0x${torch_build})
target_link_libraries(openreg_torch INTERFACE ${torch_libraries})
