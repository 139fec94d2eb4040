#pragma once
#include "conformance/mutate/switch.hpp"

// What stands at the mutable sites of a generated file. A site of m mutants with ids k .. k+m-1 asks `choice(k)`.
// `a + b` becomes `a + plus_{k} + b`: a proxy between two operators of the same precedence leaves the parse as it was,
// so no operand needs to be found. The operands are evaluated once, in their own types; with no mutant on the result is
// a + b.
namespace assay::mutate {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"

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

#pragma GCC diagnostic pop

}  // namespace assay::mutate
