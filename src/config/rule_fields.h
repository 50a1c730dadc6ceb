// Every key of a rule file, stated once: the loader checks against it, the JSON Schema and
// docs/rules.md are generated from it.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "config/field_reader.h"

namespace sluice {

std::span<const Field> domain_fields();
std::span<const Field> descriptor_fields();
std::span<const Field> limit_fields();

// What a `unit` is worth, in the order of its choices.
Duration unit_length(std::size_t choice);

// Indexes into the choices, where code has to name one.
inline constexpr std::size_t kAlgorithmGcra = 4;  // Another name of token_bucket.
inline constexpr std::size_t kScopeLocal = 0;
inline constexpr std::size_t kChargeEach = 1;

}  // namespace sluice
