# Target nlohmann_json::nlohmann_json, the same headers for every compiler.
#
# JSON_NOEXCEPTION is public on purpose: the program is compiled with exceptions
# and the core without, and the library's inline functions must be the same in
# both.
if(EMSCRIPTEN)
  # The headers are Debian's, but /usr/include as a whole would shadow
  # Emscripten's own system headers, so a folder holds a link to this one.
  find_path(NLOHMANN_JSON_INCLUDE nlohmann/json.hpp
    PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(private ${PROJECT_BINARY_DIR}/include)
  file(MAKE_DIRECTORY ${private})
  file(CREATE_LINK ${NLOHMANN_JSON_INCLUDE}/nlohmann ${private}/nlohmann SYMBOLIC)
  add_library(nlohmann_json INTERFACE)
  target_include_directories(nlohmann_json SYSTEM INTERFACE ${private})
  add_library(nlohmann_json::nlohmann_json ALIAS nlohmann_json)
else()
  find_package(nlohmann_json 3.11 REQUIRED)
endif()

add_library(wireplan_json INTERFACE)
target_link_libraries(wireplan_json INTERFACE nlohmann_json::nlohmann_json)
target_compile_definitions(wireplan_json INTERFACE JSON_NOEXCEPTION)
