# cmake -D PTXAS=... -D ARCH=sm_80 -D PTX=... -D CUBIN=... -D REPORT=... -P assemble.cmake
# Assembles PTX and keeps what ptxas says of registers, stack and spills.
execute_process(COMMAND ${PTXAS} -arch=${ARCH} -v --warning-as-error -o ${CUBIN} ${PTX} OUTPUT_VARIABLE text ERROR_VARIABLE text
                RESULT_VARIABLE rc)
if(NOT rc EQUAL 0)
  message(FATAL_ERROR "ptxas ${ARCH}: ${text}")
endif()
file(WRITE ${REPORT} "${text}")
