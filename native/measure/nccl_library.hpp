// A library that is opened while the program runs, and its functions.
#pragma once

#include <dlfcn.h>

#include <string>

namespace wireplan::nccl_backend {

// Stays open until the process ends: such libraries leave threads behind.
class Library {
 public:
  // The first of `names` that can be opened; why() says why none could.
  template <class... Names>
  explicit Library(Names... names) {
    ((handle_ ? void() : open(names)), ...);
  }
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& why() const { return why_; }

  // What has no function of the name stays null; the first such name is kept.
  template <class F>
  void find(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle_, name));
    if (!function && lacking_.empty()) lacking_ = name;
  }
  template <class F>
  void find_if_there(const char* name, F& function) { function = reinterpret_cast<F>(dlsym(handle_, name)); }
  const std::string& lacking() const { return lacking_; }

 private:
  void open(const char* name) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (handle_) return;
    const char* words = dlerror();
    if (why_.empty()) why_ = words ? words : std::string(name) + " cannot be opened";
  }

  void* handle_ = nullptr;
  std::string why_, lacking_;
};

}  // namespace wireplan::nccl_backend
