#include "reference/attention/paged.hpp"

#include <array>

#include "conformance/attention/heads.hpp"
#include "conformance/attention/pool.hpp"

// Claims of spec/attention/paged.md.
namespace assay {
namespace {

template <class T>
void paged_op(Eval<T>& e) {
  const auto opt = e.template options<AttentionPagedOptions>();
  const bool hnd = opt.layout == AttentionPagedOptions::Layout::hnd;
  const PagedInputs<T> in{e.tensor("q"), e.tensor(hnd ? "k_pages_hnd" : "k_pages"),
                          e.tensor(hnd ? "v_pages_hnd" : "v_pages"), e.index_tensor("block_table"),
                          e.index_tensor("lens")};
  const AttentionOutputs<T> y = attention_paged(in, opt);
  e.out("o", y.o);
  e.out("lse", y.lse);
}

void same(Check& check, const std::string& what, const Tensors& y, const Tensors& expected) {
  for (const Named& t : expected.all()) check.same_bits(t.name + what, y[t.name], t.value);
  check.nothing_to_compare();
}

double poison_of(Check& check) {
  return check.pick("poison", 0, 1) == 0 || !check.contract().in->has_infinity() ? not_a_number : infinity;
}

}  // namespace

DEFINITION(attention.paged, attention_paged, paged_op)

CLAIM(attention.paged.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(attention.paged.append) {
  const Pool from(with_tokens(check).call());
  const Pool pool = repaged(from, from.P, false, 1), line = repaged(from, from.P, true, 1);
  const Index b = check.pick("b", 0, from.B - 1), n = from.length(b);
  // one request after the other, as if there were no pages: token n of request b is slot n of its part
  const Index linear = b * line.maxblk * line.P + n;
  const Place token{check.pick("page", 0, from.Npages - 1), check.pick("slot", 0, from.P - 1)};
  for (const auto& [to, at] :
       {std::pair<const Pool*, Place>{&pool, pool.place(b, n)}, {&line, Place{linear / line.P, linear % line.P}}}) {
    to->set_length(b, n + 1);
    for (Index g = 0; g < from.Hkv; ++g) {
      for (Index c = 0; c < from.d; ++c) to->k(at, g, c) = from.k(token, g, c);
      for (Index c = 0; c < from.dv; ++c) to->v(at, g, c) = from.v(token, g, c);
    }
  }
  const Tensors y = check.run(pool.call);
  same(check, " after a token was written to its page", y, check.run(line.call));
  check.accurate(pool.call, y);
}

CLAIM(attention.paged.bad_page) {
  const Pool from(with_tokens(check).with("lens_is", "full").call());
  const Pool pool = repaged(from, from.P, false, 0);  // nobody's page is 0
  const Index b = check.pick("b", 0, from.B - 1), block = check.pick("block", 0, pages_of(from.length(b), from.P) - 1);
  for (const Index page : {Index{-1}, pool.Npages, pool.Npages + 7, Index{0x7fffffff}}) {
    pool.set_page(b, block, page);
    const Pool other(pool.call);
    for (Index slot = 0; slot < from.P; ++slot) other.fill({0, slot}, not_a_number);
    const std::string refused = check.refusal(other.call);
    check.require(true, "a bad page was given");
    if (refused.empty()) same(check, " where page 0 stands for a bad one", check.run(other.call), check.run(pool.call));
  }
}

CLAIM(attention.paged.empty_row) {
  for (const char* size : {"B", "Sq"})
    if (check.c[size] == 0) check.with(size, 2);
  const Pool pool(check.with("lens_is", check.pick("how", 0, 1) == 0 ? "zero" : "some_zero").call());
  const Tensors y = check.run(pool.call);
  for_each_head(pool.call, [&](Index b, Index h) {
    for (Index i = 0; i < pool.Sq; ++i) {
      if (pool.seen(b, i) > 0) continue;
      check.same_bits("L of a row that sees no key", lse_at(y, b, h, i), -infinity);
      for (Index c = 0; c < pool.dv; ++c)
        check.require(row_at(y, b, h, i)[c] == 0, "O of a row that sees no key is 0", row_at(y, b, h, i)[c]);
    }
  });
}

CLAIM(attention.paged.equals_contiguous) {
  const Pool from(with_tokens(check).call());
  Index longest = 1;
  for (Index b = 0; b < from.B; ++b) longest = std::max(longest, from.length(b));
  const Pool line = repaged(from, longest, true, 0);  // a page is a request
  const Tensors y = check.run(line.call);
  check.accurate(line.call, y);
  for (const Index P : {from.P, Index{1}, Index{2}, Index{16}, Index{256}}) {
    const Pool pool = repaged(from, P, false, 0);
    const Tensors z = check.run(pool.call);
    if (check.same_kernel())
      same(check, " with pages of " + std::to_string(P), z, y);
    else
      check.accurate(pool.call, z);
  }
}

CLAIM(attention.paged.garbage) {
  const Pool clean(with_tokens(check).call());
  const Pool pool(clean.call);
  const std::vector<Place> used = clean.used_places();
  const double poison = poison_of(check);
  for (Index page = 0; page < pool.Npages; ++page)
    for (Index slot = 0; slot < pool.P; ++slot)
      if (!among(used, {page, slot})) pool.fill({page, slot}, poison);
  for (Index b = 0; b < pool.B; ++b)
    for (Index j = pages_of(pool.length(b), pool.P); j < pool.maxblk; ++j)
      pool.set_page(b, j, std::array<Index, 3>{-1, 0x7fffffff, pool.Npages}[static_cast<std::size_t>(b + j) % 3]);
  same(check, " with garbage wherever no token is", check.run(pool.call), check.run(clean.call));
}

CLAIM(attention.paged.layout) {
  const Call nhd = check.with("layout", "nhd").call();
  Call hnd = check.with("layout", "hnd").call();
  for (const char* name : {"k_pages", "v_pages"}) {
    const Shape n = nhd[name].shape();
    const Tensor<double>&x = nhd[name], y = hnd[name + std::string("_hnd")].clone();
    for (Index i = 0; i < x.size(); ++i) {
      const Index c = i % n[3], h = i / n[3] % n[2], slot = i / (n[3] * n[2]) % n[1], page = i / (n[3] * n[2] * n[1]);
      y.data()[((page * n[2] + h) * n[1] + slot) * n[3] + c] = x.at_flat(i);
    }
    hnd.set(name + std::string("_hnd"), y);
  }
  for (const char* name : {"q", "lens", "block_table"}) hnd.set(name, nhd[name]);
  same(check, " with heads of tokens instead of tokens of heads", check.run(hnd), check.run(nhd));
}

CLAIM(attention.paged.masked_poison) {
  const Pool clean(with_tokens(check).call());
  const Pool pool(clean.call);
  const Index b = check.pick("b", 0, pool.B - 1), i = check.pick("i", 0, pool.Sq - 1);
  const std::vector<Place> seen = clean.seen_places(b, i);
  const double poison = poison_of(check);
  for (Index page = 0; page < pool.Npages; ++page)
    for (Index slot = 0; slot < pool.P; ++slot)
      if (!among(seen, {page, slot})) pool.fill({page, slot}, poison);
  same_but(check, check.run(pool.call), check.run(clean.call),
           [&](Index a, Index, Index r) { return a != b || r != i; });
}

CLAIM(attention.paged.nan_row) {
  const Pool clean(with_tokens(check).call());
  const Index b = check.pick("b", 0, clean.B - 1), i = check.pick("i", 0, clean.Sq - 1);
  const Index h = check.pick("h", 0, clean.H - 1), c = check.pick("c", 0, clean.dv - 1);
  const Tensors y = check.run(clean.call);
  {
    Call call = clean.call;
    const Tensor<double> q = call["q"].clone();
    q.data()[((b * clean.Sq + i) * clean.H + h) * clean.d + check.pick("of_q", 0, clean.d - 1)] = not_a_number;
    call.set("q", q);
    const Tensors z = check.run(call);
    same_but(check, z, y, [&](Index a, Index g, Index r) { return a == b && g == h && r == i; });
    const bool empty = clean.seen(b, i) == 0;
    check.same_bits("L of a row with a NaN in q", lse_at(z, b, h, i), empty ? -infinity : not_a_number);
    check.same_bits("O of a row with a NaN in q", row_at(z, b, h, i),
                    Vector<double>(clean.dv, empty ? 0 : not_a_number));
  }
  if (clean.length(b) == 0) return;
  const Pool pool(clean.call);
  const Place bad = pool.place(b, check.pick("token", 0, pool.length(b) - 1));
  const Index bad_head = check.pick("kv", 0, pool.Hkv - 1);
  pool.v(bad, bad_head, c) = not_a_number;
  const Tensors z = check.run(pool.call);
  for_each_head(pool.call, [&](Index a, Index g) {
    for (Index r = 0; r < pool.Sq; ++r) {
      Vector<double> expected = row_at(y, a, g, r);
      if (g / (pool.H / pool.Hkv) == bad_head && among(pool.seen_places(a, r), bad)) expected[c] = not_a_number;
      check.same_bits("O where a value is NaN", row_at(z, a, g, r), expected);
      check.same_bits("L, which no value enters", lse_at(z, a, g, r), lse_at(y, a, g, r));
    }
  });
}

CLAIM(attention.paged.relocate) {
  const Pool from(with_tokens(check).call());
  const Pool to(from.call);
  const Index turn = check.pick("turn", 1, from.Npages), Npages = from.Npages;
  const auto moved = [&](Index page) { return Npages - 1 - (page + turn) % Npages; };
  for (Index page = 0; page < Npages; ++page)
    for (Index slot = 0; slot < from.P; ++slot)
      for (Index g = 0; g < from.Hkv; ++g) {
        for (Index c = 0; c < from.d; ++c) to.k({moved(page), slot}, g, c) = from.k({page, slot}, g, c);
        for (Index c = 0; c < from.dv; ++c) to.v({moved(page), slot}, g, c) = from.v({page, slot}, g, c);
      }
  for (Index b = 0; b < from.B; ++b)
    for (Index j = 0; j < from.maxblk; ++j) to.set_page(b, j, moved(from.place(b, j * from.P).first));
  same(check, " after pages moved", check.run(to.call), check.run(from.call));
}

CLAIM(attention.paged.shared) {
  with_tokens(check).with("block_table_is", "shared");
  if (check.c["B"] < 2) check.with("B", 2);
  const Pool from(check.call());
  same(check, " of requests that share pages", check.run(from.call), check.run(repaged(from, from.P, false, 0).call));
}

CLAIM(attention.paged.waste) {
  const Pool pool(with_tokens(check).call());
  for (Index b = 0; b < pool.B; ++b) {
    // The definition is content with a table of ceil(S/P) pages, and with no fewer.
    const Index S = pool.length(b), pages = (S + pool.P - 1) / pool.P;
    const auto defined_with = [&](Index columns) {
      Call call = pool.call;
      const Tensor<double> table(Shape{1, columns}), lens(Shape{1}, static_cast<double>(S));
      for (Index j = 0; j < columns; ++j) table.data()[j] = static_cast<double>(pool.place(b, j * pool.P).first);
      const Tensor<double>& q = pool.call["q"];
      call.set("q", Tensor<double>(q.storage(), q.data(), {1, pool.Sq, pool.H, pool.d}, q.strides()));
      call.set("block_table", table);
      call.set("lens", lens);
      try {
        return check.define<double>(call).count("o") == 1;
      } catch (const Error&) {
        return false;
      }
    };
    check.require(defined_with(pages), "ceil(S/P) pages hold S tokens");
    check.require(pages == 0 || !defined_with(pages - 1), "fewer than ceil(S/P) pages do not");
    check.require(pages * pool.P - S < pool.P, "slots wasted are fewer than P",
                  static_cast<double>(pages * pool.P - S));
  }
}

}  // namespace assay
