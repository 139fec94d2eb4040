#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/core/error.hpp"

namespace assay {

using Index = std::int64_t;
using Shape = std::vector<Index>;

/// "[3, 5]"
std::string to_string(const Shape& shape);
/// Number of elements of a shape. Throws Error if a size is negative, or if the product overflows and none is 0.
Index count(const Shape& shape);
/// Strides, in elements, of a dense row-major tensor. Without an element they mean nothing, and one that would overflow
/// is 0. Throws what count throws.
Shape dense_strides(const Shape& shape);

namespace detail {
/// Memory on a cache line of its own: vector loads never straddle two lines. A thread keeps what it dropped last, so a
/// chain of words finds its storage in the cache.
void* take_memory(std::size_t bytes);
void drop_memory(void* memory, std::size_t bytes);

/// Storage of n elements, for whoever writes every one: numbers hold garbage.
template <class T>
std::shared_ptr<T[]> allocate(Index n) {
  if (n < 0 || n > std::numeric_limits<Index>::max() / static_cast<Index>(sizeof(T))) throw std::bad_array_new_length();
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  T* const data = static_cast<T*>(take_memory(bytes));
  if constexpr (!std::is_trivially_default_constructible_v<T>) std::uninitialized_default_construct_n(data, n);
  static_assert(std::is_trivially_destructible_v<T>);
  return std::shared_ptr<T[]>(data, [bytes](T* p) { drop_memory(p, bytes); });
}
}  // namespace detail

// Vector, Matrix and Tensor are handles on shared storage with strides: copying one is cheap and does not copy
// elements, a transpose or a row is a view. By convention a function never writes to its arguments; it fills what it
// allocates itself.

/// [n]
template <class T>
class Vector {
 public:
  Vector() = default;
  explicit Vector(Index n, const T& value = T()) : size_(n), own_(detail::allocate<T>(n)), data_(own_.get()) {
    for (Index i = 0; i < n; ++i) data_[i] = value;
  }
  Vector(std::initializer_list<T> values) : Vector(static_cast<Index>(values.size())) {
    Index i = 0;
    for (const T& v : values) data_[i++] = v;
  }
  /// For whoever writes every element.
  static Vector uninitialised(Index n) {
    std::shared_ptr<T[]> own = detail::allocate<T>(n);
    T* const data = own.get();
    return {std::move(own), data, n, 1};
  }
  Vector(std::shared_ptr<T[]> own, T* data, Index n, Index stride)
      : size_(n), stride_(stride), own_(std::move(own)), data_(data) {}

  Index size() const { return size_; }
  Index stride() const { return stride_; }
  T* data() const { return data_; }
  const std::shared_ptr<T[]>& storage() const { return own_; }
  T& operator[](Index i) { return data_[i * stride_]; }
  const T& operator[](Index i) const { return data_[i * stride_]; }

 private:
  Index size_ = 0, stride_ = 1;
  std::shared_ptr<T[]> own_;
  T* data_ = nullptr;
};

/// [rows, cols]
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(Index rows, Index cols, const T& value = T())
      : rows_(rows), cols_(cols), row_stride_(cols), own_(detail::allocate<T>(rows * cols)), data_(own_.get()) {
    for (Index i = 0; i < rows * cols; ++i) data_[i] = value;
  }
  /// For whoever writes every element.
  static Matrix uninitialised(Index rows, Index cols) {
    std::shared_ptr<T[]> own = detail::allocate<T>(rows * cols);
    T* const data = own.get();
    return {std::move(own), data, rows, cols, cols, 1};
  }
  Matrix(std::shared_ptr<T[]> own, T* data, Index rows, Index cols, Index row_stride, Index col_stride)
      : rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride), own_(std::move(own)), data_(data) {}

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index row_stride() const { return row_stride_; }
  Index col_stride() const { return col_stride_; }
  T* data() const { return data_; }
  const std::shared_ptr<T[]>& storage() const { return own_; }
  T& operator()(Index i, Index j) { return data_[i * row_stride_ + j * col_stride_]; }
  const T& operator()(Index i, Index j) const { return data_[i * row_stride_ + j * col_stride_]; }

  Vector<T> row(Index i) const { return {own_, data_ + i * row_stride_, cols_, col_stride_}; }
  Vector<T> col(Index j) const { return {own_, data_ + j * col_stride_, rows_, row_stride_}; }
  /// Rows [first, last) as a view.
  Matrix row_range(Index first, Index last) const {
    return {own_, data_ + first * row_stride_, last - first, cols_, row_stride_, col_stride_};
  }
  /// Columns [first, last) as a view.
  Matrix col_range(Index first, Index last) const {
    return {own_, data_ + first * col_stride_, rows_, last - first, row_stride_, col_stride_};
  }

 private:
  Index rows_ = 0, cols_ = 0, row_stride_ = 0, col_stride_ = 1;
  std::shared_ptr<T[]> own_;
  T* data_ = nullptr;
};

/// Any rank; what the engine, the vectors and the adapter speak. Elements are addressed in row-major order by
/// `at_flat`.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Shape shape, const T& value = T())
      : shape_(std::move(shape)),
        strides_(dense_strides(shape_)),
        own_(detail::allocate<T>(count(shape_))),
        data_(own_.get()) {
    for (Index i = 0, n = count(shape_); i < n; ++i) data_[i] = value;
  }
  /// For whoever writes every element.
  static Tensor uninitialised(Shape shape) {
    std::shared_ptr<T[]> own = detail::allocate<T>(count(shape));
    T* const data = own.get();
    Shape strides = dense_strides(shape);
    return {std::move(own), data, std::move(shape), std::move(strides)};
  }
  Tensor(std::shared_ptr<T[]> own, T* data, Shape shape, Shape strides)
      : shape_(std::move(shape)), strides_(std::move(strides)), own_(std::move(own)), data_(data) {}
  Tensor(const Vector<T>& v)
      : Tensor(v.storage(), v.data(), {v.size()}, {v.stride()}) {}  // NOLINT: a vector is a tensor
  Tensor(const Matrix<T>& m)                                        // NOLINT: a matrix is a tensor
      : Tensor(m.storage(), m.data(), {m.rows(), m.cols()}, {m.row_stride(), m.col_stride()}) {}

  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  Index rank() const { return static_cast<Index>(shape_.size()); }
  Index size() const { return count(shape_); }
  T* data() const { return data_; }
  const std::shared_ptr<T[]>& storage() const { return own_; }

  T& at_flat(Index i) { return data_[offset(i)]; }
  const T& at_flat(Index i) const { return data_[offset(i)]; }

  /// View of a rank-1 tensor as [n], of a rank-2 tensor as [rows, cols]. Throws Error on another rank.
  Vector<T> vector() const {
    if (rank() != 1) throw Error("tensor used as a vector", "rank 1", to_string(shape_));
    return {own_, data_, shape_[0], strides_[0]};
  }
  Matrix<T> matrix() const {
    if (rank() != 2) throw Error("tensor used as a matrix", "rank 2", to_string(shape_));
    return {own_, data_, shape_[0], shape_[1], strides_[0], strides_[1]};
  }
  /// Whether elements lie in row-major order without gaps.
  bool dense() const { return strides_ == dense_strides(shape_) || size() == 0; }
  /// Writes all elements, row-major, to `to`.
  void copy_to(T* to) const {
    const Index n = size();
    if (dense()) {
      std::copy(data_, data_ + n, to);
      return;
    }
    for (Index i = 0; i < n; ++i) to[i] = at_flat(i);
  }
  /// A dense copy in fresh storage.
  Tensor clone() const {
    Tensor out = uninitialised(shape_);
    copy_to(out.data_);
    return out;
  }

 private:
  Index offset(Index flat) const {
    Index off = 0;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      off += flat % shape_[d] * strides_[d];
      flat /= shape_[d];
    }
    return off;
  }
  Shape shape_, strides_;
  std::shared_ptr<T[]> own_;
  T* data_ = nullptr;
};

}  // namespace assay
