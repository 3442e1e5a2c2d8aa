# Readers of trainers' configurations, for core/text/toml.cpp and core/text/yaml.cpp alone:
#
#   wireplan_toml  toml++, Debian's headers, the same for every compiler
#   wireplan_yaml  libyaml, its parser without its emitter, from third_party/libyaml (./dev setup)
#
# libyaml is compiled here natively as well: one source for program and module.
set(WIREPLAN_LIBYAML_DIR "${PROJECT_SOURCE_DIR}/third_party/libyaml" CACHE PATH "Sources of libyaml 0.2.5")
if(NOT EXISTS ${WIREPLAN_LIBYAML_DIR}/include/yaml.h)
  message(FATAL_ERROR "no libyaml in ${WIREPLAN_LIBYAML_DIR}: run ./dev setup, or set WIREPLAN_LIBYAML_DIR")
endif()
set(source ${WIREPLAN_LIBYAML_DIR}/src)
add_library(wireplan_yaml STATIC ${source}/api.c ${source}/parser.c ${source}/reader.c ${source}/scanner.c)
target_include_directories(wireplan_yaml SYSTEM PUBLIC ${WIREPLAN_LIBYAML_DIR}/include)
target_compile_definitions(wireplan_yaml PUBLIC YAML_DECLARE_STATIC PRIVATE
  YAML_VERSION_MAJOR=0 YAML_VERSION_MINOR=2 YAML_VERSION_PATCH=5 YAML_VERSION_STRING="0.2.5")
target_compile_options(wireplan_yaml PRIVATE -w)
if(WIREPLAN_SANITIZE)
  target_compile_options(wireplan_yaml PRIVATE -fsanitize=${WIREPLAN_SANITIZE})
endif()

find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
add_library(wireplan_toml INTERFACE)
if(EMSCRIPTEN)  # as in Json.cmake
  set(private ${PROJECT_BINARY_DIR}/include)
  file(MAKE_DIRECTORY ${private})
  file(CREATE_LINK ${TOMLPLUSPLUS_INCLUDE}/toml++ ${private}/toml++ SYMBOLIC)
  target_include_directories(wireplan_toml SYSTEM INTERFACE ${private})
else()
  target_include_directories(wireplan_toml SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE})
endif()
