# What `cmake --install` puts where, by component:
#
#   program       bin/wireplan and what it loads when asked to measure
#   development   the static library, its C and C++ headers, the CMake package `wireplan`, a pkg-config file
#   docs          manuals and licences
include(GNUInstallDirs)

install(TARGETS wireplan RUNTIME COMPONENT program)
# native/measure/load.cpp looks for them in ../lib/wireplan from the program, wherever that went.
set(modules wireplan_nccl)
if(TARGET wireplan_mpi)
  list(APPEND modules wireplan_mpi)
endif()
install(TARGETS ${modules} LIBRARY DESTINATION lib/wireplan COMPONENT program)

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT docs)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT docs FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
# Of what the program and the library contain; what only the page and the module contain travels with those.
foreach(name cli11 libyaml nlohmann-json tomlplusplus)
  install(FILES licences/${name}.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences COMPONENT docs)
endforeach()

# --- the library ------------------------------------------------------------------------
# One object in which only the C ABI can be seen. The JSON library in it is compiled without exceptions, and libyaml without its
# emitter: by their own names they would take the place of a consumer's, or theirs of ours, whichever the linker meets first.
# Hence no headers of theirs are installed, and a consumer needs none.
if(NOT CMAKE_SYSTEM_NAME STREQUAL Linux OR NOT CMAKE_OBJCOPY OR WIREPLAN_SANITIZE)
  message(STATUS "No library will be installed: that needs GNU's linker and objcopy, and no sanitizers")
  return()
endif()
set(library ${PROJECT_BINARY_DIR}/libwireplan.a)
add_custom_command(
  OUTPUT ${library}
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation --strip-debug -o wireplan.o
          --whole-archive $<TARGET_FILE:wireplan_core> $<TARGET_FILE:wireplan_yaml> --no-whole-archive
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=wireplan_* wireplan.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${library}
  COMMAND ${CMAKE_AR} rcsD ${library} wireplan.o
  COMMAND ${CMAKE_COMMAND} -E rm wireplan.o
  DEPENDS wireplan_core wireplan_yaml
  COMMENT "Putting the library together"
  VERBATIM)
add_custom_target(wireplan_library ALL DEPENDS ${library})

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/wireplan)
configure_package_config_file(cmake/wireplan-config.cmake.in ${PROJECT_BINARY_DIR}/wireplan-config.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wireplan-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/wireplan.pc.in ${PROJECT_BINARY_DIR}/wireplan.pc @ONLY)

install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(FILES core/capi/wireplan.h core/capi/wireplan.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/wireplan-config.cmake ${PROJECT_BINARY_DIR}/wireplan-config-version.cmake
  DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/wireplan.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
