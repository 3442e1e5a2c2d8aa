# Readers of trainers' configurations, for core/text/toml.cpp and core/text/yaml.cpp alone: toml++, which is Debian's headers, and
# wireplan_yaml, which is libyaml's parser without its emitter, from third_party/libyaml (./dev setup).
# libyaml is compiled here natively as well: one source for program and module.
set(WIREPLAN_LIBYAML_DIR "${PROJECT_SOURCE_DIR}/third_party/libyaml" CACHE PATH "Sources of libyaml 0.2.5")
if(NOT EXISTS ${WIREPLAN_LIBYAML_DIR}/include/yaml.h)
  message(FATAL_ERROR "no libyaml in ${WIREPLAN_LIBYAML_DIR}: run ./dev setup, or set WIREPLAN_LIBYAML_DIR")
endif()
set(source ${WIREPLAN_LIBYAML_DIR}/src)
add_library(wireplan_yaml STATIC ${source}/api.c ${source}/parser.c ${source}/reader.c ${source}/scanner.c)
target_include_directories(wireplan_yaml PRIVATE ${WIREPLAN_LIBYAML_DIR}/include)
target_compile_definitions(wireplan_yaml PRIVATE YAML_DECLARE_STATIC
  YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5 YAML_VERSION_STRING="0.2.5")
target_compile_options(wireplan_yaml PRIVATE -w)
if(WIREPLAN_SANITIZE)
  target_compile_options(wireplan_yaml PRIVATE -fsanitize=${WIREPLAN_SANITIZE})
endif()

find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(toml ${TOMLPLUSPLUS_INCLUDE})
if(EMSCRIPTEN)  # as in Json.cmake
  set(toml ${PROJECT_BINARY_DIR}/include)
  file(MAKE_DIRECTORY ${toml})
  file(CREATE_LINK ${TOMLPLUSPLUS_INCLUDE}/toml++ ${toml}/toml++ SYMBOLIC)
endif()

# wireplan_reads_configs(TOML.cpp YAML.cpp): the headers for the two files that include them, and for no other.
function(wireplan_reads_configs toml_source yaml_source)
  if(NOT toml STREQUAL "/usr/include")
    set_source_files_properties(${toml_source} PROPERTIES COMPILE_OPTIONS "-isystem${toml}")
  endif()
  set_source_files_properties(${yaml_source} PROPERTIES
    COMPILE_OPTIONS "-isystem${WIREPLAN_LIBYAML_DIR}/include" COMPILE_DEFINITIONS YAML_DECLARE_STATIC)
endfunction()
