# What `cmake --install` puts down: the daemon with its completions, the public headers, the library,
# and a CMake package: find_package(sluice), then link sluice::sluice. The folders' other libraries
# come along because the archive needs them; their headers do not.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)

install(TARGETS sluice RUNTIME)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/completions/sluice.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sluice)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/completions/_sluice
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/completions/sluice.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set_target_properties(sluice_library PROPERTIES EXPORT_NAME sluice)
target_compile_features(sluice_library PUBLIC cxx_std_20)
install(TARGETS sluice_vocabulary sluice_algorithm sluice_base sluice_stores sluice_engine
                sluice_library EXPORT sluice ARCHIVE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice TYPE INCLUDE)
install(EXPORT sluice FILE sluice-targets.cmake NAMESPACE sluice:: DESTINATION ${package_folder})

file(WRITE ${PROJECT_BINARY_DIR}/sluice-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/sluice-targets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sluice-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sluice-config.cmake
              ${PROJECT_BINARY_DIR}/sluice-config-version.cmake DESTINATION ${package_folder})
