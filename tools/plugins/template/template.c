/* A plugin in C, to copy: softmax and RMS norm in float. Replace the two loops by calls of your library. What the
 * tensors and options mean: `assay explain softmax.safe`, `assay explain norm.rms`. */
#include <assay/plugin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- looking things up by name; NULL if the call does not have it ---- */

static const assay_tensor* find(const assay_named_tensor* list, size_t n, const char* name) {
  for (size_t i = 0; i < n; ++i)
    if (strcmp(list[i].name, name) == 0) return &list[i].tensor;
  return NULL;
}

static const assay_tensor* input(const assay_call* call, const char* name) {
  return find(call->inputs, call->n_inputs, name);
}

static const assay_tensor* output(const assay_call* call, const char* name) {
  return find(call->outputs, call->n_outputs, name);
}

static const assay_option* option(const assay_call* call, const char* name) {
  for (size_t i = 0; i < call->n_options; ++i)
    if (strcmp(call->options[i].name, name) == 0) return &call->options[i];
  return NULL;
}

/* ---- saying no ---- */

static int unsupported(const assay_call* call, const char* what, const char* which) {
  snprintf(call->error, call->error_size, "%s%s is not offered", what, which);
  return ASSAY_UNSUPPORTED;
}

static int wrong(const assay_call* call, const char* what) {
  snprintf(call->error, call->error_size, "%s", what);
  return ASSAY_ERROR;
}

static int is_float(const assay_tensor* t) { return t->dtype.code == ASSAY_FLOAT && t->dtype.bits == 32; }

/* Refuses every tensor that is not fp32 (a mask: bool) and every option, but those in `known`, that is not at its
 * default (number 0). What the capability file does not list is never asked; this is for calls made by hand. */
static int check(const assay_call* call, const char* known) {
  for (size_t i = 0; i < call->n_inputs; ++i)
    if (!is_float(&call->inputs[i].tensor) && call->inputs[i].tensor.dtype.code != ASSAY_BOOL)
      return unsupported(call, "this type of input ", call->inputs[i].name);
  for (size_t i = 0; i < call->n_outputs; ++i)
    if (!is_float(&call->outputs[i].tensor)) return unsupported(call, "this type of output ", call->outputs[i].name);
  for (size_t i = 0; i < call->n_options; ++i)
    if (strstr(known, call->options[i].name) == NULL && call->options[i].number != 0)
      return unsupported(call, "this value of option ", call->options[i].name);
  return ASSAY_OK;
}

/* NULL or a tensor of that shape (cols < 0: a vector)? */
static int fits(const assay_tensor* t, int64_t rows, int64_t cols) {
  return t == NULL || (t->ndim == (cols < 0 ? 1 : 2) && t->shape[0] == rows && (cols < 0 || t->shape[1] == cols));
}

/* ---- element (i, j) of a strided [rows, cols] tensor, (i) of a vector ---- */

static float* at(const assay_tensor* t, int64_t i, int64_t j) {
  return (float*)((char*)t->data + t->byte_offset) + i * t->strides[0] + j * t->strides[1];
}

static float* element(const assay_tensor* t, int64_t i) {
  return (float*)((char*)t->data + t->byte_offset) + i * t->strides[0];
}

static int kept(const assay_tensor* mask, int64_t i, int64_t j) {
  return mask == NULL ||
         ((const unsigned char*)
              mask->data)[mask->byte_offset + (size_t)(i * mask->strides[0] + j * mask->strides[1])] != 0;
}

/* ---- the ops ---- */

/* x [T, n], mask [T, n] -> p [T, n], log_p [T, n], lse [T] */
static int softmax(const assay_call* call) {
  const int status = check(call, "mask");
  if (status != ASSAY_OK) return status;
  const assay_tensor *x = input(call, "x"), *mask = input(call, "mask");
  const assay_tensor *p = output(call, "p"), *log_p = output(call, "log_p"), *lse = output(call, "lse");
  if (x == NULL || x->ndim != 2) return wrong(call, "softmax needs x [T, n]");
  const int64_t rows = x->shape[0], n = x->shape[1];
  if (!fits(mask, rows, n) || !fits(p, rows, n) || !fits(log_p, rows, n) || !fits(lse, rows, -1))
    return wrong(call, "mask, p and log_p must be [T, n] as x is, lse [T]");
  for (int64_t i = 0; i < rows; ++i) {
    float max = -INFINITY, sum = 0;
    int nan = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (!kept(mask, i, j)) continue;
      const float v = *at(x, i, j);
      nan |= isnan(v);
      if (v > max) max = v;
    }
    const int empty = max == -INFINITY && !nan;
    for (int64_t j = 0; j < n; ++j)
      if (kept(mask, i, j) && !empty) sum += expf(*at(x, i, j) - max);
    for (int64_t j = 0; j < n; ++j) {
      const int none = empty || !kept(mask, i, j);
      const float shifted = none ? -INFINITY : *at(x, i, j) - max;
      if (p != NULL) *at(p, i, j) = none ? 0 : expf(shifted) / sum;
      if (log_p != NULL) *at(log_p, i, j) = none ? -INFINITY : shifted - logf(sum);
    }
    if (lse != NULL) *element(lse, i) = empty ? -INFINITY : max + logf(sum);
  }
  return ASSAY_OK;
}

/* x [T, d], w [d] -> y [T, d] = w x / sqrt(mean(x^2) + eps) */
static int rms_norm(const assay_call* call) {
  const int status = check(call, "eps");
  if (status != ASSAY_OK) return status;
  const assay_tensor *x = input(call, "x"), *w = input(call, "w"), *y = output(call, "y");
  const assay_option* eps = option(call, "eps");
  if (x == NULL || x->ndim != 2 || w == NULL || y == NULL || eps == NULL)
    return wrong(call, "rms_norm needs x [T, d], w [d], y [T, d] and eps");
  const int64_t d = x->shape[1];
  if (!fits(w, d, -1) || !fits(y, x->shape[0], d)) return wrong(call, "w must be [d], y [T, d] as x is");
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < d; ++j) sum += *at(x, i, j) * *at(x, i, j);
    const float r = 1 / sqrtf(sum / (float)d + (float)eps->number);
    for (int64_t j = 0; j < d; ++j) *at(y, i, j) = *at(x, i, j) * r * *element(w, j);
  }
  return ASSAY_OK;
}

/* ---- exports ---- */

ASSAY_PLUGIN_EXPORT uint32_t assay_plugin_abi(void) { return ASSAY_ABI_VERSION; }

ASSAY_PLUGIN_EXPORT const char* assay_plugin_version(void) { return "1.0"; }

ASSAY_PLUGIN_EXPORT int assay_plugin_run(const assay_call* call) {
  if (strcmp(call->op, "softmax") == 0) return softmax(call);
  if (strcmp(call->op, "rms_norm") == 0) return rms_norm(call);
  return unsupported(call, "op ", call->op);
}
