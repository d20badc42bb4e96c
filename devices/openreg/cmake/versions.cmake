# What differs between the versions of torch, found out from its headers and
# written to one header of ours. Version numbers say little about nightlies.
function(openreg_has_header variable header)
  if(EXISTS "${torch_include}/${header}")
    set(${variable} ON PARENT_SCOPE)
  else()
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

# Whether `header` mentions `name`.
function(openreg_header_names variable header name)
  set(found)
  if(EXISTS "${torch_include}/${header}")
    file(STRINGS "${torch_include}/${header}" found REGEX "${name}")
  endif()
  if(found)
    set(${variable} ON PARENT_SCOPE)
  else()
    set(${variable} OFF PARENT_SCOPE)
  endif()
endfunction()

openreg_has_header(OPENREG_HAS_ACTIVITY_PROFILER torch/csrc/profiler/standalone/privateuse1_profiler.h)
openreg_header_names(OPENREG_META_HAS_NAMES ATen/TensorMeta.h DimnameList)
configure_file(csrc/Version.h.in ${CMAKE_CURRENT_BINARY_DIR}/generated/Version.h)
