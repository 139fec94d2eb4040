# What `cmake --install` gives: the definitions as a library (assay::reference), the plugin ABI (assay::plugin), the command.
# Headers keep their paths from the repository's root, under include/assay, which is on the include path of assay::reference.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# In the build tree <assay/plugin.h> is a copy, so that a plugin includes it the same way everywhere.
configure_file(conformance/abi/plugin.h include/assay/plugin.h COPYONLY)
add_library(assay_plugin INTERFACE)
target_include_directories(assay_plugin INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(assay_reference INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/assay>)
foreach(target flags plugin reference)
  add_library(assay::${target} ALIAS assay_${target})
  set_target_properties(assay_${target} PROPERTIES EXPORT_NAME ${target})
endforeach()

install(FILES conformance/abi/plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay)
install(DIRECTORY reference DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay FILES_MATCHING PATTERN "*.hpp" PATTERN tests EXCLUDE
        PATTERN kernels EXCLUDE PATTERN vocabulary EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/spec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay FILES_MATCHING PATTERN "*.hpp")
install(TARGETS assay_flags assay_plugin assay_reference EXPORT assay)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
install(EXPORT assay NAMESPACE assay:: FILE assayTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/assayConfig.cmake.in ${PROJECT_BINARY_DIR}/assayConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assayConfig.cmake ${PROJECT_BINARY_DIR}/assayConfigVersion.cmake DESTINATION ${package})

# The command, and the processes it starts (a worker, ranks), which it looks for beside itself; the plugins that come with it.
add_custom_target(assay_main_job COMMENT "What the main job needs: the command, its worker, the oneDNN plugin")
foreach(program assay assay_worker assay_mpi_rank)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    add_dependencies(assay_main_job ${program})
  endif()
endforeach()
if(TARGET assay_onednn)
  set(plugins ${CMAKE_INSTALL_LIBDIR}/assay/plugins)
  install(TARGETS assay_onednn LIBRARY DESTINATION ${plugins})
  install(FILES tools/plugins/onednn/onednn.yaml DESTINATION ${plugins})
  add_dependencies(assay_main_job assay_onednn)
endif()

if(ASSAY_DEVELOPER)
  foreach(way find_package add_subdirectory)
    add_test(NAME install_consumer_${way}
             COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
                     -DCXX=${CMAKE_CXX_COMPILER} -DCC=${CMAKE_C_COMPILER} -P ${PROJECT_SOURCE_DIR}/cmake/consumer/check.cmake)
  endforeach()
endif()
