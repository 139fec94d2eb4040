#pragma once
#include <cstdint>

#include "reference/ptx/lanes.hpp"

// mma.sync: which element of a matrix each lane holds (PTX ISA 9.0, section 9.7.14.5; the formulas agree with the
// layouts that CUTLASS publishes). D(16 x 8) = A(16 x K) B(K x 8) + C; lane 4 g + t. A register holds e = 32 / bits
// elements, from its low bits on.
namespace assay::ptx {

struct Place {
  int row, col;
  friend bool operator==(const Place&, const Place&) = default;
};

/// A, element j of register r: row g + 8 (r & 1), column e t + j + 4 e (r >> 1).
constexpr Place place_in_a(int bits, int lane, int r, int j) {
  const int g = lane / 4, t = lane % 4, e = 32 / bits;
  return {g + 8 * (r & 1), e * t + j + 4 * e * (r >> 1)};
}
/// B, element j of register r: row e t + j + 4 e r, column g.
constexpr Place place_in_b(int bits, int lane, int r, int j) {
  const int g = lane / 4, t = lane % 4, e = 32 / bits;
  return {e * t + j + 4 * e * r, g};
}
/// C and D, element i of the four that a lane holds: row g + 8 (i >> 1), column 2 t + (i & 1). Of 32 bits one is a
/// register, of 16 bits registers hold elements 0, 1 and 2, 3.
constexpr Place place_in_c(int lane, int i) { return {lane / 4 + 8 * (i >> 1), 2 * (lane % 4) + (i & 1)}; }

/// ldmatrix.m8n8.b16: register q of a lane holds two elements of matrix q, whose row i is at the address of lane 8 q +
/// i. Plain: (g, 2t) and (g, 2t + 1); .trans: (2t, g) and (2t + 1, g).
constexpr Place place_in_8x8(bool trans, int lane, int j) {
  const int g = lane / 4, t = lane % 4;
  return trans ? Place{2 * t + j, g} : Place{g, 2 * t + j};
}

}  // namespace assay::ptx
