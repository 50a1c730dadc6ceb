// "Did you mean": the known name nearest to what was written.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// Letters to insert, drop, change or swap with their neighbour, to make one the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of the names, when no more than a third of what was written differs; else empty.
std::string_view closest_name(std::string_view written, std::span<const std::string_view> names);

// `; did you mean 'NAME'?`, or nothing.
std::string did_you_mean(std::string_view written, std::span<const std::string_view> names);

}  // namespace sluice
