# Targets for Dear ImGui and ImPlot, native or WebAssembly:
#
#   imgui        the library itself
#   implot       plots on top of it
#   imgui_glfw   its backends for GLFW and OpenGL (WebGL2 on the page)
#
# Sources, in this order: WIREPLAN_IMGUI_DIR and WIREPLAN_IMPLOT_DIR;
# third_party/ (./dev setup); the upstream release archives.
include(FetchContent)

function(wireplan_sources name given header out) # plus FetchContent's arguments
  if(given)
    set(dir ${given})
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/third_party/${name}/${header})
    set(dir ${PROJECT_SOURCE_DIR}/third_party/${name})
  else()
    FetchContent_Declare(${name} ${ARGN} SOURCE_SUBDIR none DOWNLOAD_EXTRACT_TIMESTAMP ON)
    FetchContent_MakeAvailable(${name})
    set(dir ${${name}_SOURCE_DIR})
  endif()
  if(NOT EXISTS ${dir}/${header})
    message(FATAL_ERROR "no ${header} in ${dir}")
  endif()
  message(STATUS "${name}: ${dir}")
  set(${out} ${dir} PARENT_SCOPE)
endfunction()

wireplan_sources(imgui "${WIREPLAN_IMGUI_DIR}" imgui.h imgui_dir
  URL https://github.com/ocornut/imgui/archive/refs/tags/v1.92.9b-docking.tar.gz
  URL_HASH SHA256=90ded916bd57db2e0e171b6b098940a47c6f5042725dcdc67fb19940ca8bfdcc)
wireplan_sources(implot "${WIREPLAN_IMPLOT_DIR}" implot.h implot_dir
  URL https://github.com/epezent/implot/archive/refs/tags/v1.0.tar.gz
  URL_HASH SHA256=e4a9db64eef7bcc604e2a5ea380af124eb97aa3e8a6a96330079c88add0f7e93)

add_library(imgui STATIC
  ${imgui_dir}/imgui.cpp
  ${imgui_dir}/imgui_draw.cpp
  ${imgui_dir}/imgui_tables.cpp
  ${imgui_dir}/imgui_widgets.cpp)
# imgui-bundle's copy adds a layout extension that the core then calls.
if(EXISTS ${imgui_dir}/imgui_stacklayout.cpp)
  target_sources(imgui PRIVATE ${imgui_dir}/imgui_stacklayout.cpp)
endif()
target_include_directories(imgui SYSTEM PUBLIC ${imgui_dir})
# What the page never shows costs 40 kB: demo, metrics, the built-in font.
target_compile_definitions(imgui PUBLIC
  IMGUI_DISABLE_DEMO_WINDOWS IMGUI_DISABLE_DEBUG_TOOLS IMGUI_DISABLE_DEFAULT_FONT
  IMGUI_DISABLE_OBSOLETE_FUNCTIONS)
if(EMSCRIPTEN)
  # So that web/platform_web_imgui.cpp can take the place of what is never used.
  target_compile_definitions(imgui PRIVATE "IMGUI_API=__attribute__((weak))")
endif()

add_library(implot STATIC ${implot_dir}/implot.cpp ${implot_dir}/implot_items.cpp)
target_include_directories(implot SYSTEM PUBLIC ${implot_dir})
target_link_libraries(implot PUBLIC imgui)

add_library(imgui_glfw STATIC
  ${imgui_dir}/backends/imgui_impl_glfw.cpp
  ${imgui_dir}/backends/imgui_impl_opengl3.cpp)
target_include_directories(imgui_glfw SYSTEM PUBLIC ${imgui_dir}/backends)
target_link_libraries(imgui_glfw PUBLIC imgui)
if(NOT EMSCRIPTEN)
  find_package(glfw3 3.3 REQUIRED)
  find_package(OpenGL REQUIRED)
  target_link_libraries(imgui_glfw PUBLIC glfw OpenGL::GL)
endif()

foreach(library imgui implot imgui_glfw)
  target_compile_features(${library} PUBLIC cxx_std_20)
  # Natively only tests draw with it, so it need only be compiled soon.
  target_compile_options(${library} PRIVATE -w -fno-exceptions -fno-rtti $<$<NOT:$<BOOL:${EMSCRIPTEN}>>:-O1>)
  if(WIREPLAN_SANITIZE)
    target_compile_options(${library} PRIVATE -fsanitize=${WIREPLAN_SANITIZE})
  endif()
endforeach()
