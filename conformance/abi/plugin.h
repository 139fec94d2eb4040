/* assay's plugin ABI, version 1: how a kernel library is asked to run an op. Installed as <assay/plugin.h>. Plain C99,
 * self-contained, Apache-2.0; copy it into your project if you like. `assay explain OP` says what each op's tensors and
 * options mean; tools/plugins/template has a plugin in C and one in C++ to start from.
 *
 * A plugin is a shared library that exports
 *
 *     uint32_t assay_plugin_abi(void);                        must return ASSAY_ABI_VERSION
 *     int assay_plugin_run(const assay_call* call);           runs one op on the CPU memory it is given
 *
 * and may export
 *
 *     int assay_plugin_offers(const char* op, const char* contract, char* reason, size_t reason_size);
 *     const char* assay_plugin_version(void);
 *
 * with a capability file beside it (same name, .yaml) that declares what it offers. The plugin runs in a process of its
 * own, on one thread at a time (it may start threads of its own). A crash, a hang or a stray access ends that process
 * and is reported as a verdict on the case; the next call meets a fresh process.
 *
 * Ownership. Everything reachable from `call` belongs to assay and is valid until assay_plugin_run returns: keep no
 * pointer to any of it. The next call may have the same addresses with other contents; a cache keyed by address or by
 * shape that survives into it is a bug and is tested for. Caches of code (compiled kernels, primitives) are fine.
 *
 * Inputs must not be written: they are mapped read-only, and writing one is a verdict. Outputs must be written in full,
 * every element; they hold a poison pattern before the call. Bytes between the elements of a strided tensor belong to
 * nobody: they must neither influence the result nor change. The memory after the end (in one run) or before the start
 * (in another) of each tensor is inaccessible.
 *
 * The file has DLPack's memory layout and dtype codes (assay_tensor = DLTensor, assay_dtype = DLDataType,
 * assay_device = DLDevice of DLPack >= 1.1), so a pointer to an assay_tensor may be cast where a DLTensor* is wanted.
 */
#ifndef ASSAY_PLUGIN_H_
#define ASSAY_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_VERSION 1u

/* What assay_plugin_run and assay_plugin_offers return. Any other value is treated as ASSAY_ERROR. */
enum {
  ASSAY_OK = 0,          /* done: all outputs are written */
  ASSAY_UNSUPPORTED = 1, /* this combination of op, contract, options, shapes or strides is not offered; say which in
                            `error`. Reported as "not supported", never as a failure. Nothing need be written. */
  ASSAY_ERROR = 2        /* wrong call, or the library failed; say why in `error`. Tensors whose shapes or dtypes do not
                            fit together are a wrong call and must be refused, not computed with. */
};

/* assay_dtype.code: the codes of DLDataTypeCode. Elements are little-endian; bool is one byte, 0 or 1. Types below 8
 * bits (int4, float6, float4) are packed without padding, element i in bits [i*bits, (i+1)*bits) of the tensor counted
 * from the lowest bit of its first byte; such tensors are always dense. */
enum {
  ASSAY_INT = 0,
  ASSAY_UINT = 1,
  ASSAY_FLOAT = 2, /* IEEE: 16, 32, 64 bits */
  ASSAY_OPAQUE_HANDLE = 3,
  ASSAY_BFLOAT = 4, /* 16 bits */
  ASSAY_COMPLEX = 5,
  ASSAY_BOOL = 6, /* 8 bits */
  ASSAY_FLOAT8_E3M4 = 7,
  ASSAY_FLOAT8_E4M3 = 8,
  ASSAY_FLOAT8_E4M3B11FNUZ = 9,
  ASSAY_FLOAT8_E4M3FN = 10,
  ASSAY_FLOAT8_E4M3FNUZ = 11,
  ASSAY_FLOAT8_E5M2 = 12,
  ASSAY_FLOAT8_E5M2FNUZ = 13,
  ASSAY_FLOAT8_E8M0FNU = 14,
  ASSAY_FLOAT6_E2M3FN = 15,
  ASSAY_FLOAT6_E3M2FN = 16,
  ASSAY_FLOAT4_E2M1FN = 17
};

/* assay_device.type: the codes of DLDeviceType. Version 1 passes ASSAY_CPU only. */
enum { ASSAY_CPU = 1, ASSAY_CUDA = 2 };

typedef struct {
  int32_t type; /* ASSAY_CPU */
  int32_t id;   /* 0 */
} assay_device;

typedef struct {
  uint8_t code;   /* ASSAY_FLOAT, ... */
  uint8_t bits;   /* of one element */
  uint16_t lanes; /* 1 */
} assay_dtype;

/* A tensor. Element (i0, i1, ...) is at data + byte_offset + (i0*strides[0] + i1*strides[1] + ...) * bits/8 bytes.
 *
 * - `strides` counts elements, not bytes, is never NULL for ndim > 0, and is never negative. The capability file says
 *   which strides a library takes: dense (row-major without gaps; the default), row_strided (the last dimension has
 *   stride 1, the others are at least as far apart as they must be) or any. A library declared dense is given dense
 *   tensors only, and need not look at strides.
 * - The stride of a dimension of size 0 or 1 means nothing and may hold any value: never read it as a pitch.
 * - A tensor with a size of 0 has no elements: `data` may be anything and must not be dereferenced.
 * - `data` is aligned to the element's size; to more only if the capability file asks (`alignment`).
 * - ndim is 0 for a scalar: one element. */
typedef struct {
  void* data;
  assay_device device;
  int32_t ndim;
  assay_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset; /* 0 in version 1 */
} assay_tensor;

/* A tensor under its name in the op's signature: "x", "mask", "p". */
typedef struct {
  const char* name;
  assay_tensor tensor;
} assay_named_tensor;

/* An option of the op. Every option of the op is passed in every call, defaults included.
 * - enumeration: `value` is the spelled value ("given"), `number` its index on the op's page;
 * - number: `number` is the value, `value` its shortest decimal spelling ("1e-05"). */
typedef struct {
  const char* name;
  const char* value;
  double number;
} assay_option;

/* One call. Tensors come in the order of the op's page; inputs that the options exclude (`mask` with mask=none) are
 * absent, and of the outputs only those that are wanted are present. Look them up by name: pages may gain tensors. */
typedef struct {
  uint32_t abi_version; /* ASSAY_ABI_VERSION */
  const char* op;       /* "softmax" */
  /* What numerics are asked for, "in=bf16 acc=fp32 out=bf16". The formats of the tensors are also in their dtypes; the
     other fields (accumulator, order, ...) are what the result will be judged by. */
  const char* contract;

  const assay_named_tensor* inputs;
  size_t n_inputs;
  const assay_named_tensor* outputs; /* the records are const, the elements are yours to write */
  size_t n_outputs;
  const assay_option* options;
  size_t n_options;

  char* error; /* error_size bytes, "" before the call: write a NUL-terminated sentence (snprintf) if not ASSAY_OK */
  size_t error_size;
} assay_call;

/* ---- exports of a plugin; declare them with ASSAY_PLUGIN_EXPORT ---- */

#if defined(_WIN32)
#define ASSAY_PLUGIN_EXPORT __declspec(dllexport)
#else
#define ASSAY_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Required. */
ASSAY_PLUGIN_EXPORT uint32_t assay_plugin_abi(void);
/* Required. Returns ASSAY_OK, ASSAY_UNSUPPORTED or ASSAY_ERROR. No exception may leave it. */
ASSAY_PLUGIN_EXPORT int assay_plugin_run(const assay_call* call);
/* Optional: does the library, as it is on this machine, offer `op` under `contract`? Asked at load time for entries of
 * the capability file with `ask: true` (a 16-bit type that only some CPUs have). Returns ASSAY_OK, or ASSAY_UNSUPPORTED
 * with the reason as a sentence in `reason`. */
ASSAY_PLUGIN_EXPORT int assay_plugin_offers(const char* op, const char* contract, char* reason, size_t reason_size);
/* Optional: the version of the library behind the plugin, a string that outlives the call: "2.6.3". */
ASSAY_PLUGIN_EXPORT const char* assay_plugin_version(void);

#ifdef __cplusplus
}
#endif

#endif /* ASSAY_PLUGIN_H_ */
