# A slower build without ccache, never a failing one.
option(OPENREG_CCACHE "Use ccache where there is one" ON)
if(OPENREG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    # Paths are made relative, so that the same sources in another folder are found.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_CURRENT_SOURCE_DIR}
        CCACHE_NOHASHDIR=1 ${CCACHE})
  endif()
endif()
