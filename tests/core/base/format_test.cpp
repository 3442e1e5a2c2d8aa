#include "core/base/format.hpp"

#include <catch2/catch_test_macros.hpp>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

using namespace wireplan;

TEST_CASE("bytes have at most four digits", "[base]") {
  CHECK(format_bytes(Bytes(86.9e9), ByteUnit::GB) == "86.9");
  CHECK(format_bytes(Bytes(85899345920.0), ByteUnit::GB) == "85.9");
  CHECK(format_bytes(Bytes(85899345920.0), ByteUnit::GiB) == "80.0");
  CHECK(format_bytes(Bytes(9.994e9), ByteUnit::GB) == "9.99");
  CHECK(format_bytes(Bytes(9.996e9), ByteUnit::GB) == "10.0");
  CHECK(format_bytes(Bytes(0), ByteUnit::GB) == "0");
  CHECK(format_bytes(Bytes(4e6), ByteUnit::GB) == "0.00");  // not nothing
  CHECK(format_bytes(Bytes(999.94e9), ByteUnit::GB) == "999.9");
  CHECK(format_bytes(Bytes(999.97e9), ByteUnit::GB) == "1000");
  CHECK(format_bytes(Bytes(-1.234e9), ByteUnit::GB) == "\u22121.23");
}

TEST_CASE("small amounts of bytes step down", "[base]") {
  CHECK(format_bytes_with_unit(Bytes(86.9e9), ByteUnit::GB) == "86.9 GB");
  CHECK(format_bytes_with_unit(Bytes(0.1e9), ByteUnit::GB) == "0.10 GB");
  CHECK(format_bytes_with_unit(Bytes(0.099e9), ByteUnit::GB) == "99.0 MB");
  CHECK(format_bytes_with_unit(Bytes(1500), ByteUnit::GB) == "1.50 kB");
  CHECK(format_bytes_with_unit(Bytes(12), ByteUnit::GB) == "12 B");
  CHECK(format_bytes_with_unit(Bytes(536870912), ByteUnit::GiB) == "0.50 GiB");
  CHECK(format_bytes_with_unit(Bytes(16777216), ByteUnit::GiB) == "16.0 MiB");
  CHECK(format_bytes_with_unit(Bytes(0), ByteUnit::GiB) == "0 GiB");
  CHECK(format_bytes_with_unit(Bytes(2.5e13), ByteUnit::GB) == "25.0 TB");
}

TEST_CASE("message sizes are binary, as in nccl-tests", "[base]") {
  CHECK(format_message_size(Bytes(26214400)) == "25 MiB");
  CHECK(format_message_size(Bytes(1610612736)) == "1.50 GiB");
  CHECK(format_message_size(Bytes(512)) == "512 B");
  CHECK(format_message_size(Bytes(1024)) == "1 KiB");
  CHECK(format_message_size(Bytes(0)) == "0 B");
}

TEST_CASE("seconds step through ms, µs and ns", "[base]") {
  CHECK(format_seconds(Seconds(36.64)) == "36.6 s");
  CHECK(format_seconds(Seconds(2.294)) == "2.29 s");
  CHECK(format_seconds(Seconds(0.766)) == "766 ms");
  CHECK(format_seconds(Seconds(0.0766)) == "76.6 ms");
  CHECK(format_seconds(Seconds(0.99964)) == "1.00 s");
  CHECK(format_seconds(Seconds(9.996)) == "10.0 s");
  CHECK(format_seconds(Seconds(0.09996)) == "100 ms");
  CHECK(format_seconds(Seconds(5.7e-6)) == "5.70 µs");
  CHECK(format_seconds(Seconds(3e-10)) == "0.30 ns");
  CHECK(format_seconds(Seconds(0)) == "0 s");
  CHECK(format_seconds(Seconds(-0.5)) == "\u2212500 ms");
  CHECK(format_seconds(Seconds(12345)) == "12345 s");
}

TEST_CASE("rates, percents and counts", "[base]") {
  CHECK(format_rate(BytesPerSecond(14.2e9)) == "14.2 GB/s");
  CHECK(format_rate(BytesPerSecond(185.4e9)) == "185 GB/s");
  CHECK(format_rate(BytesPerSecond(99.96e9)) == "100 GB/s");
  CHECK(format_rate(BytesPerSecond(2.039e12)) == "2039 GB/s");
  CHECK(format_rate(BytesPerSecond(0)) == "0 GB/s");
  CHECK(format_flops_rate(312) == "312 TFLOP/s");
  CHECK(format_flops_rate(19.5) == "19.5 TFLOP/s");
  CHECK(format_percent(0.257) == "26 %");
  CHECK(format_percent(0.002) == "<1 %");
  CHECK(format_percent(0) == "0 %");
  CHECK(format_percent(-0.1) == "\u221210 %");
  CHECK(format_count(262144) == "262,144");
  CHECK(format_count(999) == "999");
  CHECK(format_count(-1234567) == "\u22121,234,567");
  CHECK(format_parameters(7241732096.0) == "7.242 B");
  CHECK(format_parameters(405.9e9) == "405.9 B");
  CHECK(format_parameters(124439808) == "124.4 M");
  CHECK(format_parameters(999.96e6) == "1.000 B");
  CHECK(format_parameters(671026404352.0) == "671.0 B");
  CHECK(format_parameters(12) == "12");
}

TEST_CASE("format_fixed never shows minus zero", "[base]") {
  CHECK(format_fixed(-0.001, 2) == "0.00");
  CHECK(format_fixed(-0.0, 0) == "0");
  CHECK(format_fixed(-1.5, 1) == "-1.5");
  CHECK(format_fixed(std::numeric_limits<double>::infinity(), 1) == "0.0");
}

TEST_CASE("format_exact is the shortest text that reads back", "[base]") {
  CHECK(format_exact(0.1) == "0.1");
  CHECK(format_exact(14483464192.0) == "14483464192");
  CHECK(format_exact(9007199254740991.0) == "9007199254740991");
  CHECK(format_exact(1e22) == "1e22");
  CHECK(format_exact(1e-5) == "1e-5");
  CHECK(format_exact(-2.5) == "-2.5");
  CHECK(format_exact(5e-324) == "5e-324");
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bits = random();
    double x;
    std::memcpy(&x, &bits, sizeof x);
    if (x - x == 0 && std::strtod(format_exact(x).c_str(), nullptr) != x) FAIL_CHECK(format_exact(x));
  }
}

TEST_CASE("the process's locale does not show", "[base]") {
  // Any locale with a comma will do; where none is installed this only repeats the plain case.
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "vi_VN.UTF-8", "C"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    CHECK(format_fixed(1.5, 1) == "1.5");
    CHECK(format_exact(0.1) == "0.1");
    CHECK(format_seconds(Seconds(2.294)) == "2.29 s");
    break;
  }
  std::setlocale(LC_NUMERIC, "C");
}
