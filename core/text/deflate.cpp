#include "core/text/deflate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace wireplan {
namespace {

constexpr int kMaxBits = 15, kMinMatch = 3, kMaxMatch = 258, kWindow = 32768;

// Lengths and distances are a base plus extra bits (RFC 1951 section 3.2.5).
struct Code {
  int base, extra_bits;
};
constexpr std::array<Code, 29> kLengths = {{{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                                            {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                                            {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                                            {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};
constexpr std::array<Code, 30> kDistances = {
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},     {9, 2},     {13, 2},
     {17, 3},    {25, 3},    {33, 4},    {49, 4},     {65, 5},     {97, 5},    {129, 6},   {193, 6},
     {257, 7},   {385, 7},   {513, 8},   {769, 8},    {1025, 9},   {1537, 9},  {2049, 10}, {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

template <std::size_t N>
int code_of(const std::array<Code, N>& codes, int value) {
  int code = static_cast<int>(N) - 1;
  while (codes[static_cast<std::size_t>(code)].base > value) --code;
  return code;
}

class BitWriter {
 public:
  // The `count` lowest bits of `value`, lowest first.
  void put(unsigned value, int count) {
    bits_ |= static_cast<std::uint64_t>(value) << used_;
    used_ += count;
    for (; used_ >= 8; used_ -= 8, bits_ >>= 8) out_ += static_cast<char>(bits_ & 0xff);
  }
  // A prefix code: highest bit first.
  void put_code(unsigned code, int count) {
    for (int i = count - 1; i >= 0; --i) put((code >> i) & 1, 1);
  }
  std::string finished() {
    if (used_ > 0) out_ += static_cast<char>(bits_ & 0xff);
    return std::move(out_);
  }

 private:
  std::string out_;
  std::uint64_t bits_ = 0;
  int used_ = 0;
};

// Symbol 0..287 in the fixed code (RFC 1951 section 3.2.6).
void put_fixed(BitWriter& out, int symbol) {
  const unsigned s = static_cast<unsigned>(symbol);
  if (symbol < 144)
    out.put_code(0x30 + s, 8);
  else if (symbol < 256)
    out.put_code(0x190 + s - 144, 9);
  else if (symbol < 280)
    out.put_code(s - 256, 7);
  else
    out.put_code(0xc0 + s - 280, 8);
}

void put_match(BitWriter& out, int length, int distance) {
  const int l = code_of(kLengths, length), d = code_of(kDistances, distance);
  const Code length_code = kLengths[static_cast<std::size_t>(l)],
             distance_code = kDistances[static_cast<std::size_t>(d)];
  put_fixed(out, 257 + l);
  out.put(static_cast<unsigned>(length - length_code.base), length_code.extra_bits);
  out.put_code(static_cast<unsigned>(d), 5);
  out.put(static_cast<unsigned>(distance - distance_code.base), distance_code.extra_bits);
}

// A canonical prefix code: how many codes there are of each length, and the symbols in order of their codes.
struct Prefixes {
  std::array<int, kMaxBits + 1> count{};
  std::vector<int> symbols;

  // False when more codes are asked for than there are.
  bool set(const std::vector<int>& lengths) {
    count = {};
    for (const int length : lengths) ++count[static_cast<std::size_t>(length)];
    count[0] = 0;
    int free = 1;
    std::array<int, kMaxBits + 2> place{};
    for (std::size_t bits = 1; bits <= kMaxBits; ++bits) {
      free = free * 2 - count[bits];
      if (free < 0) return false;
      place[bits + 1] = place[bits] + count[bits];
    }
    symbols.assign(static_cast<std::size_t>(place[kMaxBits + 1]), 0);
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
      if (lengths[symbol] > 0)
        symbols[static_cast<std::size_t>(place[static_cast<std::size_t>(lengths[symbol])]++)] =
            static_cast<int>(symbol);
    return true;
  }
};

class Inflater {
 public:
  Inflater(std::string_view data, std::size_t most) : data_(data), most_(most) {}

  std::string out;
  const char* fault = nullptr;

  bool run() {
    bool last = false;
    while (!last) {
      last = bit() == 1;
      const int type = bits(2);
      if (fault != nullptr) return false;
      if (type == 3) return fail("it has a block of no known type");
      if (!(type == 0 ? stored() : type == 1 ? fixed() : dynamic())) return false;
    }
    return true;
  }

 private:
  bool fail(const char* text) {
    if (fault == nullptr) fault = text;
    return false;
  }
  int bit() {
    if (at_ >= data_.size()) {
      fail("it ends too early");
      return 0;
    }
    const int value = (static_cast<unsigned char>(data_[at_]) >> used_) & 1;
    if (++used_ == 8) {
      used_ = 0;
      ++at_;
    }
    return value;
  }
  int bits(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }
  // Next symbol, -1 when there is none.
  int symbol(const Prefixes& prefixes) {
    int code = 0, first = 0, place = 0;
    for (std::size_t length = 1; length <= kMaxBits && fault == nullptr; ++length) {
      code |= bit();
      const int count = prefixes.count[length];
      if (code - first < count)
        return fault == nullptr ? prefixes.symbols[static_cast<std::size_t>(place + code - first)] : -1;
      place += count;
      first = (first + count) * 2;
      code *= 2;
    }
    fail("it has a code that means nothing");
    return -1;
  }
  bool add(char c) {
    if (out.size() >= most_) return fail("it is too long when unpacked");
    out += c;
    return true;
  }

  bool stored() {
    if (used_ > 0) {
      used_ = 0;
      ++at_;
    }
    const int length = bits(16), check = bits(16);
    if (fault != nullptr) return false;
    if ((length ^ check) != 0xffff) return fail("a block does not know its own length");
    for (int i = 0; i < length; ++i)
      if (!add(static_cast<char>(bits(8))) || fault != nullptr) return false;
    return true;
  }

  bool block(const Prefixes& literals, const Prefixes& distances) {
    for (;;) {
      const int literal = symbol(literals);
      if (literal < 0) return false;
      if (literal == 256) return true;
      if (literal < 256) {
        if (!add(static_cast<char>(literal))) return false;
        continue;
      }
      const std::size_t l = static_cast<std::size_t>(literal) - 257;
      if (l >= kLengths.size()) return fail("it has a length that means nothing");
      const int length = kLengths[l].base + bits(kLengths[l].extra_bits);
      const int distance_symbol = symbol(distances);
      if (distance_symbol < 0) return false;
      const std::size_t d = static_cast<std::size_t>(distance_symbol);
      if (d >= kDistances.size()) return fail("it has a distance that means nothing");
      const std::size_t distance = static_cast<std::size_t>(kDistances[d].base + bits(kDistances[d].extra_bits));
      if (fault != nullptr) return false;
      if (distance > out.size()) return fail("it repeats what was not there");
      for (int i = 0; i < length; ++i)
        if (!add(out[out.size() - distance])) return false;
    }
  }

  bool fixed() {
    std::vector<int> lengths(288, 8);
    std::fill(lengths.begin() + 144, lengths.begin() + 256, 9);
    std::fill(lengths.begin() + 256, lengths.begin() + 280, 7);
    Prefixes literals, distances;
    return literals.set(lengths) && distances.set(std::vector<int>(30, 5)) && block(literals, distances);
  }

  bool dynamic() {
    constexpr int kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::size_t literal_count = static_cast<std::size_t>(bits(5)) + 257;
    const std::size_t distance_count = static_cast<std::size_t>(bits(5)) + 1;
    const int length_count = bits(4) + 4;
    std::vector<int> lengths(19);
    for (int i = 0; i < length_count; ++i) lengths[static_cast<std::size_t>(kOrder[i])] = bits(3);
    Prefixes codes;
    if (fault != nullptr) return false;
    if (!codes.set(lengths)) return fail("its codes are impossible");
    lengths.clear();
    while (lengths.size() < literal_count + distance_count) {
      const int code = symbol(codes);
      if (code < 0) return false;
      if (code == 16 && lengths.empty()) return fail("its codes are impossible");
      if (code < 16)
        lengths.push_back(code);
      else {
        const int value = code == 16 ? lengths.back() : 0;
        const int repeat = code == 16 ? 3 + bits(2) : code == 17 ? 3 + bits(3) : 11 + bits(7);
        lengths.insert(lengths.end(), static_cast<std::size_t>(repeat), value);
      }
    }
    if (fault != nullptr || lengths.size() > literal_count + distance_count) return fail("its codes are impossible");
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(literal_count);
    Prefixes literals, distances;
    if (!literals.set({lengths.begin(), middle}) || !distances.set({middle, lengths.end()}))
      return fail("its codes are impossible");
    return block(literals, distances);
  }

  std::string_view data_;
  std::size_t most_, at_ = 0;
  int used_ = 0;
};

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string deflated(std::string_view text) {
  constexpr std::size_t kTable = 1 << 12;
  std::vector<std::ptrdiff_t> last(kTable, -1);  // where each hash of three bytes was seen last
  BitWriter out;
  out.put(1, 1);  // the last block
  out.put(1, 2);  // with the fixed codes
  for (std::size_t i = 0; i < text.size();) {
    int length = 0, distance = 0;
    if (i + kMinMatch <= text.size()) {
      const auto byte = [&](std::size_t k) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i + k]));
      };
      const std::size_t hash = ((byte(0) | byte(1) << 8 | byte(2) << 16) * 2654435761u) >> 20;
      const std::ptrdiff_t before = last[hash];
      last[hash] = static_cast<std::ptrdiff_t>(i);
      if (before >= 0 && static_cast<std::ptrdiff_t>(i) - before <= kWindow) {
        const std::size_t from = static_cast<std::size_t>(before);
        while (length < kMaxMatch && i + static_cast<std::size_t>(length) < text.size() &&
               text[from + static_cast<std::size_t>(length)] == text[i + static_cast<std::size_t>(length)])
          ++length;
        distance = static_cast<int>(i - from);
      }
    }
    if (length >= kMinMatch) {
      put_match(out, length, distance);
      i += static_cast<std::size_t>(length);
    } else {
      put_fixed(out, static_cast<unsigned char>(text[i++]));
    }
  }
  put_fixed(out, 256);
  return out.finished();
}

Result<std::string> inflated(std::string_view data, std::size_t most) {
  Inflater inflater(data, most);
  if (inflater.run()) return std::move(inflater.out);
  const std::string fault = inflater.fault;
  return Error{"", "", "deflated data", "the packed part cannot be unpacked: " + fault};
}

std::string base64url(std::string_view data) {
  std::string text;
  unsigned bits = 0;
  int used = 0;
  for (const char c : data) {
    bits = (bits << 8 | static_cast<unsigned char>(c)) & 0xffff;
    for (used += 8; used >= 6; used -= 6) text += kDigits[(bits >> (used - 6)) & 63];
  }
  if (used > 0) text += kDigits[(bits << (6 - used)) & 63];
  return text;
}

Result<std::string> base64url_decoded(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string data;
  unsigned bits = 0;
  int used = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos)
      return Error{"", "", "A-Z a-z 0-9 - _", "the packed part has a character that base64url does not have"};
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xffff;
    used += 6;
    if (used >= 8) {
      used -= 8;
      data += static_cast<char>((bits >> used) & 0xff);
    }
  }
  return data;
}

}  // namespace wireplan
