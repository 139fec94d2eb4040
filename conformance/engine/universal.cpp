#include <algorithm>

#include "conformance/engine/claim.hpp"

// The universal claims: written once, asked of every op on every target. Memory itself - guards, poison, inputs mapped
// read-only - is watched by the worker in every call; here it is watched in every layout.
namespace assay {
namespace {

bool is_float(const Format& f) { return f.has_nan(); }

/// The inputs of `from`, with other values (another seed).
Call other_values(Check& check, const Call& from) {
  Check other = check;
  other.c.set("seed", (check.c["seed"] + 1) % 1000);
  Call call = from;
  call.inputs = other.call().inputs;
  return call;
}

/// Whether a tensor of the op has rows first.
bool has_rows(const Check& check, const std::vector<TensorSpec>& specs, const std::string& name) {
  for (const TensorSpec& s : specs) {
    if (s.name == name) return !s.shape.empty() && s.shape[0] == check.c.space().op().rows;
  }
  return false;
}

/// The elements of row t.
Tensor<double> row_of(const Tensor<double>& x, Index t) {
  Shape shape = x.shape();
  shape[0] = 1;
  return {x.storage(), x.data() + t * x.strides()[0], shape, x.strides()};
}

void require_rows(Check& check) {
  const std::string& rows = check.c.space().op().rows;
  if (rows.empty()) throw NotOffered{"rows: the op has none"};
  if (check.c[rows] < 2) check.with(rows, 2);
}

}  // namespace

CLAIM(universal.written) {
  const Call call = check.call();
  for (const bool other : {false, true}) {
    Layout layout;
    layout.other_poison = other;
    const Tensors out = check.run(call, layout);  // fails if an element still holds the poison
    check.require(!out.all().empty(), "the target returns an output");
  }
}

CLAIM(universal.memory) {
  const Call call = check.call();
  for (const bool before : {false, true}) {
    Layout layout;
    layout.guard_before = before;
    const Tensors out = check.run(call, layout);  // a touch outside, or a write to an input, is a failure
    check.require(!out.all().empty(), "the target returns an output");
  }
}

CLAIM(universal.deterministic) {
  const Call call = check.call();
  const Tensors first = check.run(call), second = check.run(call);
  for (const Named& t : first.all()) check.same_bits(t.name + " of the second call", second[t.name], t.value);
  check.nothing_to_compare();
}

CLAIM(universal.stateless) {
  const Call call = check.call(), other = other_values(check, call);
  const Tensors alone = check.run(call);
  check.accurate(other, check.run(other));  // fresh inputs at the same addresses
  const Tensors again = check.run(call);
  for (const Named& t : alone.all()) check.same_bits(t.name + " after another call", again[t.name], t.value);
}

CLAIM(universal.strided) {
  const Call call = check.call();
  Layout layout;
  layout.strided = true;
  check.accurate(call, check.run(call, layout));
}

CLAIM(universal.rows_independent) {
  require_rows(check);
  const Call call = check.call();
  Call changed = other_values(check, call);  // row 0 keeps its values, the others change
  for (const Named& t : call.inputs.all()) {
    if (!has_rows(check, call.op->inputs, t.name)) {
      changed.set(t.name, t.value);
      continue;
    }
    const Tensor<double> mixed = changed[t.name].clone(), row = row_of(t.value, 0);
    for (Index i = 0, n = row.size(); i < n; ++i) mixed.data()[i] = row.at_flat(i);
    changed.set(t.name, mixed);
  }
  const Tensors before = check.run(call), after = check.run(changed);
  for (const Named& t : before.all()) {
    if (has_rows(check, call.op->outputs, t.name))
      check.same_bits(t.name + ", row 0 when other rows change", row_of(after[t.name], 0), row_of(t.value, 0));
  }
  check.nothing_to_compare();
}

CLAIM(universal.nan_row) {
  require_rows(check);
  const Call call = check.call();
  const std::string rows = call.op->rows;
  const Index bad = check.pick("row", 0, check.c[rows] - 1);
  Call poisoned = call;
  for (const Named& t : call.inputs.all()) {
    if (!has_rows(check, call.op->inputs, t.name) || !is_float(*t.format)) continue;
    const Tensor<double> x = t.value.clone();
    const Tensor<double> row = row_of(x, bad);
    if (row.size() > 0) x.data()[bad * x.strides()[0]] = __builtin_nan("");
    poisoned.set(t.name, x);
  }
  const Tensors before = check.run(call), after = check.run(poisoned);
  for (const Named& t : before.all()) {
    if (!has_rows(check, call.op->outputs, t.name)) continue;
    for (Index r = 0; r < check.c[rows]; ++r) {
      if (r != bad) check.same_bits(t.name + " of a row beside the NaN", row_of(after[t.name], r), row_of(t.value, r));
    }
  }
  check.nothing_to_compare();
}

CLAIM(universal.empty_batch) {
  const std::string& rows = check.c.space().op().rows;
  if (rows.empty()) throw NotOffered{"rows: the op has none"};
  const Call call = check.with(rows, 0).call();
  const Tensors out = check.run(call);
  for (const Named& t : out.all()) {
    if (has_rows(check, call.op->outputs, t.name))
      check.require(t.value.size() == 0, "output " + t.name + " of an empty batch is empty");
  }
  check.nothing_to_compare();
}

CLAIM(universal.wrong_shape) {
  const OpSpec& op = check.c.space().op();
  const Call call = check.call();
  // Every input but the first, made one longer in each of its sizes in turn, disagrees with the first: a clear refusal.
  for (std::size_t k = 1; k < call.inputs.all().size(); ++k) {
    const Named& t = call.inputs.all()[k];
    for (std::size_t d = 0; d < t.value.shape().size(); ++d) {
      const std::string& symbol = [&]() -> const std::string& {
        for (const TensorSpec& s : op.inputs) {
          if (s.name == t.name) return s.shape[d];
        }
        return op.rows;
      }();
      int uses = 0;  // a symbol that only this tensor has may be anything
      for (const Named& other : call.inputs.all()) {
        for (const TensorSpec& s : op.inputs) {
          if (s.name == other.name) uses += static_cast<int>(std::count(s.shape.begin(), s.shape.end(), symbol));
        }
      }
      if (uses < 2) continue;
      Call wrong = call;
      Shape shape = t.value.shape();
      ++shape[d];
      wrong.set(t.name, Tensor<double>(shape, 1.0));
      check.require(!check.refusal(wrong).empty(), "input " + t.name + " of shape " + to_string(shape) +
                                                       " instead of " + to_string(t.value.shape()) + " is refused");
    }
  }
  if (check.compared() == 0) throw NotOffered{"a second input whose shape must fit the first"};
}

CLAIM(universal.wrong_dtype) {
  const Call call = check.call();
  // Every input in turn as 32-bit integers (as fp32 and as int64 where the contract has them): not what the contract
  // says.
  for (const Named& t : call.inputs.all()) {
    Tensor<double> values(t.value.shape());
    for (Index i = 0, n = values.size(); i < n; ++i) values.data()[i] = static_cast<double>(i * 7 % 5 + 1);
    const bool integers = t.format->name == "int32";
    for (const char* other : {integers ? "fp32" : "int32", "int64"}) {
      if (!integers && other == std::string("int64")) continue;
      Call wrong = call;
      wrong.inputs.set(t.name, values, &format(other));
      check.require(!check.refusal(wrong).empty(), "input " + t.name + " given as " + other + " instead of " +
                                                       std::string(t.format->name) + " is refused");
    }
  }
  check.nothing_to_compare();
}

}  // namespace assay
