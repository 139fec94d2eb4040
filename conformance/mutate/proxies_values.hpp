#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/mutate/switch.hpp"

// Proxies around values: constants, arguments, stored and returned values, subscripts, functions.
namespace assay::mutate {

inline bool keep_(int k) { return !on(k); }
inline bool drop_(int k) { return on(k); }

template <class T, class... A>
T literal_(int k, T value, A... others) {
  const std::array<T, sizeof...(A)> list{static_cast<T>(others)...};
  const int c = choice(k);
  return c >= 0 && c < static_cast<int>(sizeof...(A)) ? list[static_cast<std::size_t>(c)] : value;
}

/// The argument, or its neighbour where that can take its place.
template <class A, class B>
A& pick_(int k, A& a, B& b) {
  if constexpr (std::is_same_v<A, B>) {
    return on(k) ? b : a;
  } else if constexpr (numbers<A, B>) {
    static thread_local std::remove_const_t<A> other;
    if (!on(k)) return a;
    return other = static_cast<A>(b);
  } else {
    return a;
  }
}

// x = e becomes x = scaled_{k} = e, return e becomes return scaled_{k} = e.
struct scaled_ {
  int k;
  template <class E>
  E operator=(E e) const {
    if constexpr (std::is_floating_point_v<E>) {
      if (choice(k) == 0) return e * static_cast<E>(1.001);
      if (choice(k) == 1) return e * static_cast<E>(1.00390625);
    }
    return e;
  }
};

// float x = e becomes float &x = stale_<float, k>() = e: with the mutant on, only the first pass of a run assigns.
template <class T, int k>
struct stale_ {
  static inline thread_local T value{};
  static inline thread_local std::uint64_t run = 0;
  static bool assigns() {
    const bool first = run != state.run;
    run = state.run;
    return first || !on(k);
  }
  template <class E>
  T& operator=(E&& e) const {
    T next = std::forward<E>(e);
    if (assigns()) value = std::move(next);
    return value;
  }
  template <class... A>
  T& operator()(A&&... a) const {
    T next(std::forward<A>(a)...);
    if (assigns() || next.size() != value.size()) value = std::move(next);
    return value;
  }
};

void outside();
template <class T>
class Checked {
 public:
  explicit Checked(T& v) : v_(v) {}
  template <class I>
  auto& operator[](I i) const {
    if (static_cast<std::size_t>(i) >= v_.size()) outside();
    return v_[static_cast<std::size_t>(i)];
  }

 private:
  T& v_;
};
template <class T>
Checked<std::vector<T>> checked_(std::vector<T>& v) {
  return Checked<std::vector<T>>(v);
}
template <class T>
Checked<const std::vector<T>> checked_(const std::vector<T>& v) {
  return Checked<const std::vector<T>>(v);
}
template <class T>
T& checked_(T& v) {
  return v;
}

#define ASSAY_OF_TWO(name, other, call, instead) \
  template <class T>                             \
  T name(int k, const T& a, const T& b) {        \
    switch (choice(k)) {                         \
      case 0:                                    \
        return instead(a, b);                    \
      case 1:                                    \
        return a;                                \
      case 2:                                    \
        return b;                                \
    }                                            \
    return call(a, b);                           \
  }
ASSAY_OF_TWO(max_, min_, std::max, std::min)
ASSAY_OF_TWO(min_, max_, std::min, std::max)
ASSAY_OF_TWO(fmax_, fmin_, std::fmax, std::fmin)
ASSAY_OF_TWO(fmin_, fmax_, std::fmin, std::fmax)
#undef ASSAY_OF_TWO

#define ASSAY_OF_ONE(name, call, instead)                                \
  template <class T>                                                     \
  auto name(int k, T x) {                                                \
    return on(k) ? static_cast<decltype(call(x))>(instead(x)) : call(x); \
  }
ASSAY_OF_ONE(exp_, std::exp, std::exp2)
ASSAY_OF_ONE(exp2_, std::exp2, std::exp)
ASSAY_OF_ONE(log_, std::log, std::log2)
ASSAY_OF_ONE(log2_, std::log2, std::log)
ASSAY_OF_ONE(sqrt_, std::sqrt, T)
ASSAY_OF_ONE(abs_, std::abs, T)
ASSAY_OF_ONE(fabs_, std::fabs, T)
#undef ASSAY_OF_ONE

}  // namespace assay::mutate
