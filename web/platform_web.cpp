// The only file that knows Emscripten, GLFW and OpenGL.
#include "web/platform.hpp"

#include <GLES3/gl3.h>
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <emscripten.h>
#include <emscripten/html5.h>

EM_JS(int, has_canvas, (), { return Module["canvas"] ? 1 : 0; });
EM_JS(void, js_changed, (), {
  if (Module["onChange"]) Module["onChange"]();
});
EM_JS(void, js_edit_text, (const char* path, float x, float y, float w, float h, const char* value), {
  if (Module["editText"]) Module["editText"](UTF8ToString(path), x, y, w, h, UTF8ToString(value));
});
EM_JS(void, js_pick, (const char* path, float x, float y, float w, float h), {
  if (Module["pick"]) Module["pick"](UTF8ToString(path), x, y, w, h);
});
EM_JS(void, js_ask, (const char* dialog), {
  if (Module["ask"]) Module["ask"](UTF8ToString(dialog));
});
EM_JS(void, js_cursor, (int hand), { Module["canvas"].style.cursor = hand ? "pointer" : "default"; });
EM_JS(int, is_whole_screen, (int w, int h), { return w == screen.width && h == screen.height ? 1 : 0; });

namespace wireplan::platform {

namespace {

GLFWwindow* g_window = nullptr;
bool g_frame_is_due = false;
int g_cursor = -1;

bool on_wheel(int, const EmscriptenWheelEvent* e, void*) {
  const double steps = e->deltaMode == DOM_DELTA_PIXEL ? 1.0 / 100 : e->deltaMode == DOM_DELTA_LINE ? 1.0 / 3 : 80;
  if (e->mouse.ctrlKey) {
    if (!take_zoom(static_cast<float>(-e->deltaY * steps))) return false;  // the browser's own
    request_frame();
    return true;
  }
  if (!takes_wheel()) return false;  // the page's own
  ImGui::GetIO().AddMouseWheelEvent(static_cast<float>(-e->deltaX * steps), static_cast<float>(-e->deltaY * steps));
  request_frame();
  return true;
}

bool on_animation_frame(double, void*) {
  g_frame_is_due = false;
  draw_frame();
  return false;
}

}  // namespace

bool open() {
  if (!has_canvas() || !glfwInit()) return false;
  // The emulation then multiplies the drawing buffer by the device's pixel ratio and leaves all coordinates in CSS pixels.
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 0);
  glfwWindowHint(GLFW_ALPHA_BITS, 0);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  glfwSetErrorCallback([](int, const char*) {});
  g_window = glfwCreateWindow(320, 200, "Wireplan", nullptr, nullptr);
  if (!g_window) return false;
  glfwMakeContextCurrent(g_window);
  ImGui_ImplGlfw_InitForOpenGL(g_window, true);
  ImGui_ImplOpenGL3_Init("#version 300 es");
  // With a scroll callback the emulation would keep every turn of the wheel from the page.
  glfwSetScrollCallback(g_window, nullptr);
  emscripten_set_wheel_callback("#canvas", nullptr, false, on_wheel);
  return true;
}

void resize(int width, int height) {
  // The emulation takes a window of exactly the screen's size for a wish to go full-screen.
  glfwSetWindowSize(g_window, width, is_whole_screen(width, height) ? height - 1 : height);
}

void begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
}

void end_frame(ImVec4 ground) {
  int width = 0, height = 0;
  glfwGetFramebufferSize(g_window, &width, &height);
  glViewport(0, 0, width, height);
  glClearColor(ground.x, ground.y, ground.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

void request_frame() {
  if (g_frame_is_due) return;
  g_frame_is_due = true;
  emscripten_request_animation_frame(on_animation_frame, nullptr);
}

void restore() {
  if (!g_window) return;
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplOpenGL3_Init("#version 300 es");
}

void say_changed() { js_changed(); }
void say_edit_text(const std::string& path, Rect r, const std::string& value) {
  js_edit_text(path.c_str(), r.x, r.y, r.w, r.h, value.c_str());
}
void say_ask(const std::string& dialog) { js_ask(dialog.c_str()); }
void say_pick(const std::string& path, Rect r) { js_pick(path.c_str(), r.x, r.y, r.w, r.h); }

void show_cursor(bool is_hand) {
  if (g_cursor == static_cast<int>(is_hand)) return;
  g_cursor = is_hand;
  js_cursor(is_hand);
}

}  // namespace wireplan::platform
