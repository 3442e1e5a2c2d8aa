// What Dear ImGui reaches from every frame and this page never needs: docking, tables, columns, tab bars, settings files,
// logging, and the mending of calls left open. cmake/ImGui.cmake compiles the library with weak functions, so that the
// linker takes the empty ones below and leaves out all that only the others call: a tenth of the page. Natively, where
// tests/frame checks that every call is closed, the whole library is linked.
#include <imgui_internal.h>

namespace ImGui {

#ifdef IMGUI_HAS_DOCK
void DockContextInitialize(ImGuiContext*) {}
void DockContextShutdown(ImGuiContext*) {}
void DockContextClearNodes(ImGuiContext*, ImGuiID, bool) {}
void DockContextNewFrameUpdateUndocking(ImGuiContext*) {}
void DockContextNewFrameUpdateDocking(ImGuiContext*) {}
void DockContextEndFrame(ImGuiContext*) {}
void DockContextQueueUndockNode(ImGuiContext*, ImGuiDockNode*) {}
void DockContextProcessUndockWindow(ImGuiContext*, ImGuiWindow*, bool) {}
void BeginDocked(ImGuiWindow*, bool*) {}
void BeginDockableDragDropSource(ImGuiWindow*) {}
void BeginDockableDragDropTarget(ImGuiWindow*) {}
void SetWindowDock(ImGuiWindow*, ImGuiID, ImGuiCond) {}
#endif

void EndTable() {}
void TableGcCompactTransientBuffers(ImGuiTable*) {}
void TableGcCompactTransientBuffers(ImGuiTableTempData*) {}
void TableSettingsAddSettingsHandler() {}
void EndColumns() {}
void EndTabBar() {}

void AddSettingsHandler(const ImGuiSettingsHandler*) {}
void LoadIniSettingsFromDisk(const char*) {}
void SaveIniSettingsToDisk(const char*) {}
const char* SaveIniSettingsToMemory(size_t*) { return ""; }

void LogRenderedText(const ImVec2*, const char*, const char*) {}
void LogToClipboard(int) {}
void LogFinish() {}

void ErrorRecoveryTryToRecoverState(const ImGuiErrorRecoveryState*) {}
void ErrorRecoveryTryToRecoverWindowState(const ImGuiErrorRecoveryState*) {}

}  // namespace ImGui
