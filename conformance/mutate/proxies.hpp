#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/mutate/mutant.hpp"

// What stands at the mutable sites of a generated file. A site of m mutants with ids k .. k+m-1 asks `choice(k)`.
// `a + b` becomes `a + plus_{k} + b`: a proxy between two operators of the same precedence leaves the parse as it was,
// so no operand needs to be found. The operands are evaluated once, in their own types; with no mutant on the result is
// a + b.
namespace assay::mutate {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"

struct State {
  int active = 0;
  std::uint64_t run = 0;
  std::int64_t passes = 0, limit = std::numeric_limits<std::int64_t>::max();
};
extern constinit thread_local State state;

inline int choice(int k) { return state.active - k; }  // 0, 1, ...: which of the site's mutants is on, if any
inline bool on(int k) { return state.active == k; }

template <class... T>
inline constexpr bool numbers = (std::is_arithmetic_v<T> && ...);

// Infix arithmetic: the operator and its three alternatives in terms of a and b.
#define ASSAY_INFIX(proxy, op, first, second, third)           \
  struct proxy {                                               \
    int k;                                                     \
    template <class A>                                         \
    struct Left {                                              \
      A a;                                                     \
      int k;                                                   \
      template <class B>                                       \
      auto operator op(B b) const {                            \
        using R = decltype(a op b);                            \
        if constexpr (numbers<A, B>) {                         \
          switch (choice(k)) {                                 \
            case 0:                                            \
              return static_cast<R>(first);                    \
            case 1:                                            \
              return static_cast<R>(second);                   \
            case 2:                                            \
              if (third_##proxy) return static_cast<R>(third); \
          }                                                    \
        }                                                      \
        return static_cast<R>(a op b);                         \
      }                                                        \
    };                                                         \
  };                                                           \
  template <class A>                                           \
  proxy::Left<A> operator op(A a, proxy p) {                   \
    return {a, p.k};                                           \
  }
inline constexpr bool third_plus_ = true, third_minus_ = true, third_times_ = true, third_over_ = true,
                      third_modulo_ = false;
ASSAY_INFIX(plus_, +, a - b, a, b)
ASSAY_INFIX(minus_, -, a + b, a, -b)
ASSAY_INFIX(times_, *, a + b, a, b)
ASSAY_INFIX(over_, /, a* b, a, b)
ASSAY_INFIX(modulo_, %, a / b, a, a)
#undef ASSAY_INFIX

// Comparisons: the operator and its two alternatives.
#define ASSAY_COMPARISON(proxy, op, first, second) \
  struct proxy {                                   \
    int k;                                         \
    template <class A>                             \
    struct Left {                                  \
      A a;                                         \
      int k;                                       \
      template <class B>                           \
      bool operator op(const B& b) const {         \
        switch (choice(k)) {                       \
          case 0:                                  \
            return a first b;                      \
          case 1:                                  \
            if (two_##proxy) return a second b;    \
        }                                          \
        return a op b;                             \
      }                                            \
    };                                             \
  };                                               \
  template <class A>                               \
  proxy::Left<A> operator op(A a, proxy p) {       \
    return {a, p.k};                               \
  }
inline constexpr bool two_less_ = true, two_less_equal_ = true, two_greater_ = true, two_greater_equal_ = true,
                      two_equal_ = false, two_unequal_ = false;
ASSAY_COMPARISON(less_, <, <=, >)
ASSAY_COMPARISON(less_equal_, <=, <, >=)
ASSAY_COMPARISON(greater_, >, >=, <)
ASSAY_COMPARISON(greater_equal_, >=, >, <=)
ASSAY_COMPARISON(equal_, ==, !=, !=)
ASSAY_COMPARISON(unequal_, !=, ==, ==)
#undef ASSAY_COMPARISON

// x += e becomes x += add_to_{k} += e, which is x += (add_to_{k} += e).
#define ASSAY_ASSIGNMENT(proxy, op, inverse)           \
  struct proxy {                                       \
    int k;                                             \
    template <class E>                                 \
    struct Right {                                     \
      E e;                                             \
      int k;                                           \
    };                                                 \
  };                                                   \
  template <class E>                                   \
  proxy::Right<E> operator op(proxy p, E e) {          \
    return {e, p.k};                                   \
  }                                                    \
  template <class T, class E>                          \
  T& operator op(T& x, const proxy::Right<E>& right) { \
    switch (choice(right.k)) {                         \
      case 0:                                          \
        x = static_cast<T>(right.e);                   \
        break;                                         \
      case 1:                                          \
        x inverse right.e;                             \
        break;                                         \
      default:                                         \
        x op right.e;                                  \
    }                                                  \
    return x;                                          \
  }
ASSAY_ASSIGNMENT(add_to_, +=, -=)
ASSAY_ASSIGNMENT(take_from_, -=, +=)
ASSAY_ASSIGNMENT(times_to_, *=, /=)
ASSAY_ASSIGNMENT(over_to_, /=, *=)
#undef ASSAY_ASSIGNMENT

// -x becomes -negate_{k}->*x, and !x the same: ->* binds between the prefix operators and the infix ones.
struct negate_ {
  int k;
};
struct Negated {
  int k;
};
inline Negated operator-(negate_ n) { return {n.k}; }
template <class A>
auto operator->*(Negated n, A a) {
  using R = decltype(-a);
  return on(n.k) ? static_cast<R>(a) : -a;
}
struct invert_ {
  int k;
};
struct Inverted {
  int k;
};
inline Inverted operator!(invert_ n) { return {n.k}; }
template <class A>
bool operator->*(Inverted n, const A& a) {
  return on(n.k) ? static_cast<bool>(a) : !a;
}

// At the end of a condition, after ||, which binds weakest there: c || guard_{k}.
struct guard_ {
  int k;
};
template <class C>
bool operator||(const C& c, guard_ g) {
  return choice(g.k) == 0 || (choice(g.k) != 1 && static_cast<bool>(c));
}
struct swap_ {
  int k;
};
template <class C>
bool operator||(const C& c, swap_ s) {
  return static_cast<bool>(c) != on(s.k);
}
void out_of_passes();
struct pass_ {};
template <class C>
bool operator||(const C& c, pass_) {
  if (!static_cast<bool>(c)) return false;
  if (++state.passes > state.limit) out_of_passes();
  return true;
}

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

#pragma GCC diagnostic pop

}  // namespace assay::mutate
