#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// The part of the CUDA driver API that a device needs, declared from its public documentation and looked up in the
// driver's library at run time: no header and no library of CUDA is needed to build this.
namespace assay::gpu::driver {

using Result = int;  // 0: success
using DeviceId = int;
using Address = unsigned long long;
using Handle = void*;  // a context, module, function or stream

struct Attribute {
  int id;
  alignas(8) unsigned char value[64];
};
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Handle stream;
  Attribute* attributes;
  unsigned count;
};

inline constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;                // of a device
inline constexpr int kMaxDynamicShared = 8, kNonPortableCluster = 14;             // of a function
inline constexpr int kErrorLog = 5, kErrorLogBytes = 6;                           // of the compiler of PTX
inline constexpr int kClusterDimension = 4;                                       // of a launch
inline constexpr std::uintptr_t kParamsEnd = 0, kParamsAt = 1, kParamsBytes = 2;  // keys of a launch's `extra`

/// The functions, under their names without "cu".
struct Api {
  Result (*Init)(unsigned flags);
  Result (*GetErrorString)(Result, const char** text);
  Result (*DeviceGet)(DeviceId*, int ordinal);
  Result (*DeviceGetName)(char* name, int bytes, DeviceId);
  Result (*DeviceGetAttribute)(int* value, int attribute, DeviceId);
  Result (*DevicePrimaryCtxRetain)(Handle* context, DeviceId);
  Result (*DevicePrimaryCtxRelease)(DeviceId);
  Result (*CtxSetCurrent)(Handle context);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(Address*, std::size_t bytes);
  Result (*MemFree)(Address);
  Result (*MemcpyHtoD)(Address to, const void* from, std::size_t bytes);
  Result (*MemcpyDtoH)(void* to, Address from, std::size_t bytes);
  Result (*ModuleLoadDataEx)(Handle* module, const void* text, unsigned count, int* options, void** values);
  Result (*ModuleGetFunction)(Handle* function, Handle module, const char* name);
  Result (*ModuleUnload)(Handle module);
  Result (*FuncSetAttribute)(Handle function, int attribute, int value);
  Result (*LaunchKernelEx)(const LaunchConfig*, Handle function, void** params, void** extra);
};

/// Loads a library and its functions, which stay loaded. Throws Error where there is no such library, or a function is
/// missing.
Api load(const std::string& file);

}  // namespace assay::gpu::driver
