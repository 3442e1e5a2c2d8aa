// Elements of all types as the measuring back-ends write and read them, on the host; nccl_kernels.cu compiles the same header for GPUs.
#include "native/measure/elements.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>

#include "native/measure/values.hpp"

using namespace wireplan;

namespace {

// Every number of a small format is its own nearest.
template <int kExponent, int kFraction>
void numbers_return() {
  constexpr unsigned all = 1u << (kExponent + kFraction + 1);
  constexpr unsigned specials = ((1u << kExponent) - 1) << kFraction;  // of the largest exponent: infinity and NaN, but in e4m3
  for (unsigned bits = 0; bits < all; ++bits) {
    if ((bits & specials) == specials) continue;
    const float value = float_of_bits<kExponent, kFraction>(bits);
    INFO("bits " << bits);
    REQUIRE(bits_of_float<kExponent, kFraction>(value) == bits);
  }
}

}  // namespace

TEST_CASE("numbers of small formats are their own nearest") {
  numbers_return<5, 10>();
  numbers_return<4, 3>();
  numbers_return<5, 2>();
}

TEST_CASE("published bit patterns of small formats") {
  // IEEE 754 binary16; OCP 8-bit floating point specification, table 2.
  CHECK(half_of(1) == 0x3c00);
  CHECK(half_of(-2) == 0xc000);
  CHECK(half_of(65504) == 0x7bff);
  CHECK(float_of_half(0x0001) == std::ldexp(1.0f, -24));
  CHECK(float_of_bits<4, 3>(0x7e) == 448);
  CHECK(float_of_bits<4, 3>(0x01) == std::ldexp(1.0f, -9));
  CHECK(float_of_bits<5, 2>(0x7b) == 57344);
  CHECK(float_of_bits<5, 2>(0x01) == std::ldexp(1.0f, -16));
  CHECK(bfloat_of(1) == 0x3f80);
}

TEST_CASE("between two numbers the even one is nearest") {
  CHECK(half_of(2049) == half_of(2048));
  CHECK(half_of(2051) == half_of(2052));
  CHECK(bits_of_float<4, 3>(17) == bits_of_float<4, 3>(16));
  CHECK(bits_of_float<4, 3>(19) == bits_of_float<4, 3>(20));
  CHECK(bfloat_of(257) == bfloat_of(256));
  CHECK(half_of(1e9f) == 0x7c00);
}

TEST_CASE("every value of every type comes back, and no other passes for it") {
  std::array<unsigned char, 64> buffer{};
  for (int type = 0; type < 12; ++type) {
    Call call;
    call.type = static_cast<ElementType>(type);
    for (int value = 0; value <= 4; ++value) {
      write_element(call.type, buffer.data(), 3, value);
      INFO(name_of(call.type) << " " << value);
      CHECK(read_element(call.type, buffer.data(), 3) == value);
      CHECK(is_as_expected(call, buffer.data(), 3, value));
      CHECK_FALSE(is_as_expected(call, buffer.data(), 3, value + 1));
    }
  }
}

TEST_CASE("a mean may be rounded, by two units in the last place, and whole numbers are cut off") {
  std::array<unsigned char, 8> buffer{};
  Call call;
  call.op = Collective::all_reduce;
  call.redop = Reduction::avg;
  call.type = ElementType::half;
  const auto holds = [&](std::uint16_t bits) {
    __builtin_memcpy(buffer.data(), &bits, sizeof bits);
    return is_as_expected(call, buffer.data(), 0, 1.5);
  };
  const std::uint16_t exact = half_of(1.5f);
  CHECK(holds(exact));
  CHECK(holds(exact + 2));
  CHECK_FALSE(holds(exact + 4));
  call.type = ElementType::int32;
  write_element(call.type, buffer.data(), 0, 1);
  CHECK(is_as_expected(call, buffer.data(), 0, 1.75));
  CHECK_FALSE(is_as_expected(call, buffer.data(), 0, 2.0));
}
