// When DeepSpeed's ZeRO-3 gathers and releases which parameters, and how many bytes are gathered meanwhile: a replay of its
// coordinator over the modules of a micro-batch.
//
// The unit is the module that owns a parameter; modules without any trigger prefetching too. The first micro-batch of a run
// records the order of modules and gathers one module at a time. From then on, after a module is fetched the parameters that
// follow in the order are prefetched while fewer than prefetch_bucket elements are under way and fewer than max_live are counted
// as present; a parameter is released after use unless it comes again within max_reuse elements of the order or the prefetcher
// has passed its next use. Whether to release is decided once for each place of the order and then kept.
//
// Bytes: a parameter gathered alone is used where it arrives (padded to the ranks); several gathered together arrive in one flat
// buffer and are all copied out when the first of them is waited for; the buffer lives until the last of them has been.
//
// Source: [deepspeed-zero] partitioned_param_coordinator.py, partition_parameters.py, parameter_offload.py, releases 0.14 and 0.19.
// Kind: count. Test: tests/core/count/traces_test.cpp, tests/core/cost/deepspeed_memory_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/blocks.hpp"
#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"

namespace wireplan {

// What one micro-batch finds.
enum class Zero3Pass : unsigned char {
  recording,  // the first of a run: no order known, nothing gathered, everything released after use
  deciding,   // the second of a run that accumulates: order known, persistent parameters not yet gathered
  first,      // the first of a steady step: persistent parameters gathered
  later       // the others of a steady step (other than `first` only where a release keeps the embedding gathered)
};

enum class Zero3Part : unsigned char { forward, recompute, backward };

// One module, before its use (a fetch) or after it (a release).
struct Zero3Event {
  static constexpr int kRoot = -1, kEmbedding = -2, kHead = -3;
  std::int32_t module = 0;     // 0: without parameters
  std::int32_t place = kRoot;  // layer of the stage (0-based), or one of the above
  signed char tensor = -1;     // index of the module's first tensor in the place's TensorList; -1: without parameters
  bool is_fetch = true;
  Zero3Part part = Zero3Part::forward;
};

// Bytes gathered. In a steady step secondary shards (zero_hpz_partition_size) are included, which every forward makes anew; in the
// first they are there from the beginning.
struct Zero3Moment {
  double peak = 0;   // at the highest
  double alive = 0;  // at the end
};

// A release of a module with parameters, and all events since the one before (everything after the last: `tensor` -1).
struct Zero3Use {
  std::int32_t place = Zero3Event::kRoot;
  signed char tensor = -1;
  Zero3Moment before, release;
};

struct Gathers {
  double forward_calls = 0, forward_elements = 0, backward_calls = 0, backward_elements = 0;
};

class Zero3Replay {
 public:
  Zero3Replay(const StageTraffic& traffic, const DeepSpeedSettings& settings);

  // Starts a micro-batch. `first` and `later` replay what has to come before them where it has not been.
  void begin(Zero3Pass pass);
  // Executes the next event; null when the micro-batch is over.
  const Zero3Event* next();
  // The same up to the next release of a module.
  std::optional<Zero3Use> next_use();
  void run(Zero3Pass pass) {
    begin(pass);
    while (next()) {
    }
  }

  double peak() const { return peak_; }              // most bytes gathered during the last event
  double alive() const { return alive_; }            // bytes gathered after it, persistent parameters included
  double secondary() const { return secondary_; }    // beside them, secondary shards (zero_hpz_partition_size)
  double persistent() const { return persistent_; }  // bytes of the persistent parameters, gathered between steps too

  // Calls of the current micro-batch, over all ranks and inside a secondary group.
  const Gathers& calls() const { return calls_; }
  const Gathers& calls_inside() const { return calls_inside_; }
  // After `first`: what is gathered is what was when it began, so that `later` does the same.
  bool leaves_what_it_found() const;

 private:
  struct Parameter {
    double elements = 0, padded = 0;           // elements
    double whole_bytes = 0, padded_bytes = 0;  // of a copy, of a gathered buffer
    std::int32_t recent = -1;                  // last place in the order that the prefetcher has passed for it
    std::int32_t group = -1;                   // the gather it is in flight with; -1: alone
    bool is_linear = false, persists = false, stays = false;
    bool present = false, in_flight = false, is_copy = false, has_secondary = false;
    bool is_saved = false, is_saved_copy = false;  // autograd still holds a gathered one (memory_efficient_linear off)
  };
  struct Owner {                          // a module that owns parameters
    std::int32_t begin = 0, end = 0;      // its parameters
    std::int32_t uses[3] = {-1, -1, -1};  // places in the order
    double elements = 0;
    signed char tensor = -1;  // index of its first one in the TensorList
  };
  struct Group {
    double flat_bytes = 0;
    std::int32_t begin = 0, end = 0, waiting = 0;  // of members_
    bool is_copied = false;
  };
  struct Queued {
    std::int32_t parameter = 0, step = 0;
  };
  struct Layer;

  const DeepSpeedSettings settings_;
  double ranks_ = 1, element_bytes_ = 2, secondary_ranks_ = 1;
  bool is_transformers_ = true, accumulates_ = false, recomputes_ = false;
  std::vector<Parameter> parameters_;
  std::vector<Owner> modules_;
  std::vector<Zero3Event> events_;
  std::vector<Queued> order_;   // parameters in the order of use
  std::vector<double> passed_;  // elements of the order before each step
  enum Decision : unsigned char { open, leave, keep };
  std::vector<unsigned char> decisions_;  // of each release, parameter by parameter
  std::vector<Group> groups_;
  std::vector<std::int32_t> members_, wanted_;

  Zero3Pass pass_ = Zero3Pass::recording;
  bool has_decided_ = false, has_first_ = false;
  std::size_t event_ = 0, decision_ = 0, queue_ = 0;
  std::int32_t step_ = 0;
  double live_ = 0, alive_ = 0, peak_ = 0, persistent_ = 0, secondary_ = 0;
  Gathers calls_, calls_inside_;

  void add_tensors(const TensorList& list);
  Layer add_layer(const TensorList& list);
  void build_order(const StageTraffic& t);
  void fetch(int place, int module, Zero3Part part);
  void release(int place, int module, Zero3Part part);
  void use(int place, int module, Zero3Part part);
  void walk(const Layer& layer, int place, Zero3Part part, bool to_the_end);
  void walk_back(const Layer& layer, int place);

  void execute_fetch(const Zero3Event& e);
  void execute_release(const Zero3Event& e);
  void prefetch(Zero3Part part);
  void gather(Zero3Part part);
  void gather_together(std::size_t begin, bool inside, Zero3Part part);
  void wait(Parameter& p);
  void drop(Parameter& p, Zero3Part part);
  bool comes_again(const Owner& m) const;
  double shard_bytes(const Parameter& p) const { return whole_blocks(p.padded / ranks_ * element_bytes_); }
  double secondary_bytes(const Parameter& p) const {
    return secondary_ranks_ > 1 ? whole_blocks(p.padded / secondary_ranks_ * element_bytes_) : 0;
  }
  void grow(double bytes) {
    alive_ += bytes;
    if (alive_ > peak_) peak_ = alive_;
  }
};

}  // namespace wireplan
