# cmake -D SOURCE=norm/rms_norm_sm80 -D ARCH=sm_80 -D ROOT=... -D PTX=... -D OUT=... -P embed.cmake
# PTX as a C++ file that registers it; places in the source are named from the root of the project.
file(READ ${PTX} text)
string(REPLACE "${ROOT}/" "" text "${text}")
string(FIND "${text}" ")ptx\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${PTX} ends the string that is to hold it")
endif()
file(WRITE ${OUT} "// Generated from gpu/${SOURCE}.cu by gpu/embed.cmake; do not edit.
#include \"gpu/runtime/kernels.hpp\"

static const assay::gpu::RegisterPtx ptx(\"${SOURCE}\", \"${ARCH}\", R\"ptx(${text})ptx\");
")
