// ATen/TensorMeta.h: native kernels for PyTorch's structured operators.
//
// One line per operator, naming its shape function and the arithmetic:
//
//   using Add = Structured<"add.out", at::meta::structured_add_Tensor, at::cpu::add_out>;
//   Add::register_in(m);
//
// PyTorch derives the functional and the in-place form from the out= form. The
// shape function runs at once, on the calling thread, so that wrong arguments
// raise where they are passed; the arithmetic is queued on the current stream.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/native/Resize.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "HostViews.h"
#include "Launch.h"
#include "OperatorCounts.h"
#include "Version.h"

namespace openreg {

// A string that can be a template argument.
template <size_t N>
struct OperatorName {
  char text[N];
  consteval OperatorName(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

// Runs the shape function `Meta` with `out` as its output.
template <class Meta>
class Sizer final : public Meta {
 public:
  explicit Sizer(at::Tensor& out) : out_(out) {}

  void set_output_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options OPENREG_AND_NAMES(at::DimnameList names)) override {
    // Unlike a real kernel, ours copes with any strides that `out` may have.
    set_output_raw_strided(index, sizes, strides, options OPENREG_AND_NAMES(names));
  }

  void set_output_raw_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options OPENREG_AND_NAMES(at::DimnameList names)) override {
    TORCH_CHECK(options.dtype() == out_.dtype(), "Expected out tensor to have dtype ", options.dtype(), ", but got ",
                out_.dtype(), " instead");
    if (at::native::resize_output(out_, sizes) && !strides.empty()) {
      out_.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
    }
    // The iterator keeps a record of its outputs.
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(index, sizes, strides, options OPENREG_AND_NAMES(names));
    }
  }

  const at::Tensor& maybe_get_output(int64_t) override { return out_; }

 private:
  at::Tensor& out_;
};

// What a queued kernel keeps of an argument: nothing may refer to the caller's
// stack, and tensors become views of the device's memory.
template <class T>
struct Kept {
  std::decay_t<T> value;
  Kept(HostViews&, const T& argument) : value(argument) {}
  const std::decay_t<T>& get() const { return value; }
};

template <>
struct Kept<at::Tensor> {
  at::Tensor value;
  Kept(HostViews& views, const at::Tensor& argument) {
    if (on_device(argument)) {
      value = views.view(argument, false);
    } else if (argument.defined()) {
      // A number from the host: it may change before the kernel runs.
      value = argument.clone();
      value.unsafeGetTensorImpl()->set_wrapped_number(argument.unsafeGetTensorImpl()->is_wrapped_number());
    }
  }
  const at::Tensor& get() const { return value; }
};

template <>
struct Kept<at::IntArrayRef> {
  std::vector<int64_t> value;
  Kept(HostViews&, at::IntArrayRef argument) : value(argument.vec()) {}
  at::IntArrayRef get() const { return value; }
};

template <>
struct Kept<at::OptionalIntArrayRef> {
  std::optional<std::vector<int64_t>> value;
  Kept(HostViews&, at::OptionalIntArrayRef argument) {
    if (argument.has_value()) value = argument->vec();
  }
  at::OptionalIntArrayRef get() const { return value ? at::OptionalIntArrayRef(*value) : at::OptionalIntArrayRef(); }
};

template <>
struct Kept<c10::string_view> {
  std::string value;
  Kept(HostViews&, c10::string_view argument) : value(argument) {}
  c10::string_view get() const { return value; }
};

// Shape functions take references where kernels take optionals.
template <class T>
const T& for_meta(const T& argument) {
  return argument;
}
inline at::OptionalScalarRef for_meta(const std::optional<at::Scalar>& argument) {
  return argument ? at::OptionalScalarRef(*argument) : at::OptionalScalarRef();
}

// Iterators check devices themselves and allow numbers from the host.
template <class T>
void check_device(const char* name, const at::Tensor& out, const T& argument) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    TORCH_CHECK(argument.device() == out.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ", out.device(),
                " and ", argument.device(), "! (when calling ", name, ")");
  }
}

template <OperatorName Name, class Meta, auto Kernel>
struct Structured;

template <OperatorName Name, class Meta, class... In, at::Tensor& (*Kernel)(at::Tensor&, In...)>
struct Structured<Name, Meta, Kernel> {
  static at::Tensor& call(In... in, at::Tensor& out) {
    static CallCounter& counter = counter_for(Name.text);
    counter.native();
    const c10::DeviceGuard guard(out.device());
    if constexpr (!std::is_base_of_v<at::TensorIteratorBase, Meta>) (check_device(Name.text, out, in), ...);
    Sizer<Meta>(out).meta(for_meta(in)...);
    if (out.numel() == 0) return out;
    HostViews views(HostViews::Lifetime::kBorrowed);
    at::Tensor result = views.view(out, true);
    auto kept = std::tuple<Kept<std::decay_t<In>>...>(Kept<std::decay_t<In>>(views, in)...);
    launch(Name.text, out.device().index(), views, [result, kept = std::move(kept)]() mutable {
      std::apply([&](const auto&... argument) { Kernel(result, argument.get()...); }, kept);
    });
    return out;
  }

  static void register_in(torch::Library& m) { m.impl(Name.text, TORCH_FN(call)); }
};

// For operators that share one C++ name: picks the overload with these inputs.
template <class... In>
using OutKernel = at::Tensor& (*)(at::Tensor&, In...);

}  // namespace openreg
