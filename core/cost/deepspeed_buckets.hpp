// What DeepSpeed holds of gradients during the backward passes of one step, on the first rank: buckets, the copies made when one
// is flushed, the rank's own gradients. Fed with "the gradient of parameter i is ready" in the order of ZeroParameters::ready.
//
//   stage 0, BF16_Optimizer   all gradients stay to the end of the step; copies for the all-reduce at the end of the last backward
//   stage 1                   all gradients and the bucket stay to the end of the last backward, when all is reduced in the order of
//                             the model; with overlap_comm in that backward, as stage 2
//   stage 2                   a gradient moves into the bucket (two with overlap_comm) from the first one on; a full bucket is
//                             flattened once more for its all-reduce, unless it is all of one partition
//   stage 3                   the bucket is permanent (ZeroBytes::bucket); a flush re-orders its content into a copy, unless it is
//                             one parameter that N divides
// A parameter larger than the bucket goes alone, from its own gradient.
//
// Kind and source: as deepspeed_memory.hpp. Test: tests/core/cost/deepspeed_memory_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cost/deepspeed_memory.hpp"

namespace wireplan {

class ZeroBuckets {
 public:
  explicit ZeroBuckets(const ZeroPlan& plan);

  void begin_step();  // nothing held
  void begin_backward(bool is_last);
  // The gradient of parameter `i` of ready has just been written. Its own bytes, until now the caller's, are the engine's from
  // here on: peak() counts them from the start of the call, alive() if they are kept.
  void gradient(std::size_t i);
  void end_backward();

  double alive() const { return alive_; }  // bytes held beyond zero_between_steps after the last call
  double peak() const { return peak_; }    // most of them during it

 private:
  const ZeroPlan& z_;
  double bucket_bytes_ = 0;
  bool moves_ = false;  // gradients move into a bucket
  bool reduces_in_backward_ = false;
  bool is_last_ = true, has_bucket_ = false, has_own_ = false;
  double accumulated_ = 0;          // bytes of the rank's own gradients of earlier micro-batches
  bool is_first_ = true;            // first micro-batch of the step
  double held_ = 0;                 // elements in the open bucket
  double alone_ = 0;                // bytes of the own gradient of a parameter larger than the bucket
  double unmoved_ = 0;              // bytes of own gradients that wait in the open bucket (no contiguous buffer)
  double left_ = 0;                 // bytes freed at the end of backward only
  double pending_ = 0;              // bytes that the next flush frees (overlap without contiguous buffer)
  std::vector<std::int32_t> open_;  // parameters in the open bucket
  double alive_ = 0, peak_ = 0;

  double own(std::size_t i) const;  // bytes of its gradient
  bool is_own(const ZeroParameter& p) const { return z_.parameters.inside(p, 0) > 0; }
  void hold(double bytes) {
    alive_ += bytes;
    if (alive_ > peak_) peak_ = alive_;
  }
  void touch(double bytes) {  // held and let go
    if (alive_ + bytes > peak_) peak_ = alive_ + bytes;
  }
  void open_bucket();
  void put(std::size_t i, double bytes);
  void flush();
  double flush_copy() const;
  void flush_partitioned();
  void flush_sharded();
  void copy_out_own(const ZeroParameter& p);
  void reduce_all_at_once();
};

}  // namespace wireplan
