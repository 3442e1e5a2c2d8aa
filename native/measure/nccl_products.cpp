#include "native/measure/nccl_products.hpp"

#include <algorithm>

#include "native/measure/nccl_blas.hpp"
#include "native/measure/nccl_library.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA advises for Hopper; PyTorch takes the same

// Null where there is no cuBLASLt, or one that lacks a function.
const BlasApi* blas() {
  static const std::unique_ptr<BlasApi> api = [] {
    auto found = std::make_unique<BlasApi>();
    Library library("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11");
    if (!library) return std::unique_ptr<BlasApi>();
    library.find("cublasLtCreate", found->create);
    library.find("cublasLtDestroy", found->destroy);
    library.find("cublasLtGetStatusString", found->status_string);
    library.find("cublasLtMatmulDescCreate", found->create_product);
    library.find("cublasLtMatmulDescDestroy", found->destroy_product);
    library.find("cublasLtMatrixLayoutCreate", found->create_layout);
    library.find("cublasLtMatrixLayoutDestroy", found->destroy_layout);
    library.find("cublasLtMatmulPreferenceCreate", found->create_preference);
    library.find("cublasLtMatmulPreferenceDestroy", found->destroy_preference);
    library.find("cublasLtMatmulPreferenceSetAttribute", found->set_preference);
    library.find("cublasLtMatmulAlgoGetHeuristic", found->heuristic);
    library.find("cublasLtMatmul", found->multiply);
    return library.lacking().empty() ? std::move(found) : std::unique_ptr<BlasApi>();
  }();
  return api.get();
}

}  // namespace

struct Products::Shape {
  Job::Product product;
  Description description = nullptr, a = nullptr, b = nullptr, c = nullptr;
  Algorithm algorithm{};
  ~Shape() {
    if (description) blas()->destroy_product(description);
    for (const Description layout : {a, b, c})
      if (layout) blas()->destroy_layout(layout);
  }
};

bool Products::are_possible() { return blas() != nullptr; }

Products::Products(const Words& words, Gpu& gpu) : words_(words), gpu_(gpu) {}

Products::~Products() {
  (void)gpu_.enter();
  shapes_.clear();
  if (handle_) blas()->destroy(handle_);
  for (Buffer* b : {&a_, &b_, &c_}) gpu_.give_back(*b, false);
  for (Buffer& w : workspaces_) gpu_.give_back(w, false);
}

Report Products::made(const char* function, int status) const {
  if (status == 0) return {};
  const char* words = blas()->status_string(status);
  return words_.failed(gpu_.rank(), std::string(function) + ": " + (words ? words : "unknown error") + " (" + std::to_string(status) + ")");
}

Report Products::describe(const Job::Product& p) {
  auto shape = std::make_unique<Shape>();
  shape->product = p;
  const auto m = static_cast<std::uint64_t>(p.m), n = static_cast<std::uint64_t>(p.n), k = static_cast<std::uint64_t>(p.k);
  if (Report r = made("cublasLtMatmulDescCreate", blas()->create_product(&shape->description, kComputeFloat, kFloat)); !r) return r;
  if (Report r = made("cublasLtMatrixLayoutCreate", blas()->create_layout(&shape->a, kBfloat16, m, k, p.m)); !r) return r;
  if (Report r = made("cublasLtMatrixLayoutCreate", blas()->create_layout(&shape->b, kBfloat16, k, n, p.k)); !r) return r;
  if (Report r = made("cublasLtMatrixLayoutCreate", blas()->create_layout(&shape->c, kBfloat16, m, n, p.m)); !r) return r;
  Description preference = nullptr;
  if (Report r = made("cublasLtMatmulPreferenceCreate", blas()->create_preference(&preference)); !r) return r;
  Heuristic best{};
  int found = 0;
  Report r = made("cublasLtMatmulPreferenceSetAttribute", blas()->set_preference(preference, kPreferMostWorkspace, &kWorkspace, sizeof kWorkspace));
  if (r) r = made("cublasLtMatmulAlgoGetHeuristic", blas()->heuristic(handle_, shape->description, shape->a, shape->b, shape->c, shape->c, preference, 1, &best, &found));
  blas()->destroy_preference(preference);
  if (!r) return r;
  if (found < 1 || best.state != 0) return words_.failed(gpu_.rank(), "cuBLASLt has no kernel for a product of " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k));
  shape->algorithm = best.algorithm;
  shapes_.push_back(std::move(shape));
  return {};
}

Report Products::prepare(const std::vector<Job::Product>& products, std::size_t lanes) {
  if (products.empty()) return {};
  if (workspaces_.size() < lanes) workspaces_.resize(lanes);
  for (Buffer& w : workspaces_)
    if (Report r = gpu_.hold(w, kWorkspace, false); !r) return r;
  if (!handle_)
    if (Report r = made("cublasLtCreate", blas()->create(&handle_)); !r) return r;
  constexpr std::size_t kElement = 2;
  for (const Job::Product& p : products) {
    const auto m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n), k = static_cast<std::size_t>(p.k);
    const std::pair<Buffer*, std::size_t> sides[] = {{&a_, m * k}, {&b_, k * n}, {&c_, m * n}};
    for (const auto& [buffer, elements] : sides) {
      const std::size_t before = buffer->bytes;
      if (Report r = gpu_.hold(*buffer, elements * kElement, false); !r) return r;
      if (buffer->bytes != before)
        if (Report r = gpu_.fill_noise(buffer->address, buffer->bytes / kElement); !r) return r;
    }
    const bool is_known = std::any_of(shapes_.begin(), shapes_.end(), [&](const auto& s) { return s->product.m == p.m && s->product.n == p.n && s->product.k == p.k; });
    if (!is_known)
      if (Report r = describe(p); !r) return r;
  }
  return {};
}

Report Products::enqueue(const Job::Product& p, Stream stream, std::size_t lane) {
  const auto shape = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& s) { return s->product.m == p.m && s->product.n == p.n && s->product.k == p.k; });
  if (shape == shapes_.end() || lane >= workspaces_.size()) return words_.failed(gpu_.rank(), "a product that was not prepared");
  const float one = 1, zero = 0;
  const Shape& s = **shape;
  const auto at = [](const Buffer& b) { return reinterpret_cast<void*>(b.address); };
  return made("cublasLtMatmul", blas()->multiply(handle_, s.description, &one, at(a_), s.a, at(b_), s.b, &zero, at(c_), s.c, at(c_), s.c, &s.algorithm, at(workspaces_[lane]), kWorkspace, stream));
}

}  // namespace wireplan::nccl_backend
