# Compiler options, as two interface targets.
#
#   wireplan_options   for everything of ours
#   wireplan_bare      besides, for core and web: no exceptions, no RTTI
add_library(wireplan_options INTERFACE)
add_library(wireplan_bare INTERFACE)

# One include root: every include reads "core/base/units.hpp".
target_include_directories(wireplan_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(wireplan_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  # A fused multiply-add rounds once where two operations round twice. Without
  # this, program and page would differ in the last digit.
  -ffp-contract=off)
# GCC 12 warns of "literal" + std::string (its bug 105651, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(wireplan_options INTERFACE -Wno-restrict)
endif()
# Clang also warns where a designated initialiser leaves out a field, which is
# what they are for. GCC warns of positional ones only.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(wireplan_options INTERFACE -Wno-missing-field-initializers)
endif()
if(WIREPLAN_WERROR)
  # But for deprecations: a newer standard library must not break the build.
  target_compile_options(wireplan_options INTERFACE -Werror -Wno-error=deprecated-declarations)
endif()
if(WIREPLAN_SANITIZE)
  # Without vptr: classes of the library, which is built without RTTI, have no type for it to compare.
  target_compile_options(wireplan_options INTERFACE
    -fsanitize=${WIREPLAN_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(wireplan_options INTERFACE -fsanitize=${WIREPLAN_SANITIZE})
endif()

target_compile_options(wireplan_bare INTERFACE -fno-exceptions -fno-rtti)
target_link_libraries(wireplan_bare INTERFACE wireplan_options)
