# Toolchain file of the preset `web`: finds Emscripten's own by way of the emcc
# on the PATH (an activated emsdk, or Debian's package) and hands over to it.
find_program(EMCC emcc REQUIRED)
execute_process(COMMAND ${EMCC} --version OUTPUT_VARIABLE version ERROR_QUIET)
if(NOT version MATCHES "([0-9]+\\.[0-9]+\\.[0-9]+)" OR CMAKE_MATCH_1 VERSION_LESS 3.1.69)
  message(FATAL_ERROR "${EMCC} is Emscripten ${CMAKE_MATCH_1}; 3.1.69 or newer is needed (./dev setup)")
endif()

get_filename_component(home ${EMCC} REALPATH)
get_filename_component(home ${home} DIRECTORY)

# Debian 12's binaryen is too old for Debian 13's emcc; ./dev setup puts a newer
# one here. Only linking runs it.
set(binaryen ${CMAKE_CURRENT_LIST_DIR}/../.cache/binaryen)
if(home STREQUAL "/usr/share/emscripten" AND EXISTS ${binaryen}/bin/wasm-opt)
  get_filename_component(binaryen ${binaryen} ABSOLUTE)
  set(ENV{EM_BINARYEN_ROOT} ${binaryen})
  set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env EM_BINARYEN_ROOT=${binaryen})
endif()

include(${home}/cmake/Modules/Platform/Emscripten.cmake)
