#pragma once
#include "reference/attention/flash2.hpp"

namespace assay {

/// What FlashAttention-1 returns, and saves for its backward: m and l.
template <class T>
struct Flash1 {
  Matrix<T> o;        // [Sq, dv]
  Vector<T> m, l;     // [Sq]
  Index visited = 0;  // tiles of logits that were computed
};

/// FlashAttention-1 (spec/attention/flash1.md): keys outside, queries inside, O normalised after every tile. Equal to
/// `attention`, with L = m + ln l. v finite.
template <class T>
Flash1<T> flash1(const FlashInputs<T>& in, const Tiles& tiles);

/// L = m + ln l of what it saves.
template <class T>
Vector<T> flash1_lse(const Flash1<T>& y);  // [Sq]

}  // namespace assay
