// Names of enumeration values, as they are written in every document. One table per enumeration, in order of its values.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wireplan {

template <class E>
inline constexpr std::array<std::string_view, 0> kNames{};  // specialised next to each enumeration

template <class E>
constexpr std::string_view name_of(E value) { return kNames<E>[static_cast<std::size_t>(value)]; }

template <class E>
constexpr std::optional<E> value_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames<E>.size(); ++i)
    if (kNames<E>[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

// "a | b | c": the limit text of an enumeration in error messages.
std::string listed(std::span<const std::string_view> names);
template <class E>
std::string names_listed() { return listed(kNames<E>); }

}  // namespace wireplan
