# cmake --install: the program, its libraries and headers (find_package(dodyn)), configurations, models, job scripts, the
# Python package that draws, a man page, completions. CPack makes a .deb of the same.
set(data ${CMAKE_INSTALL_DATADIR}/dodyn)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/dodyn)

set_target_properties(dodyn_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS dodyn_flags EXPORT dodynTargets)
install(EXPORT dodynTargets NAMESPACE dodyn:: DESTINATION ${config})
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dodynConfig.cmake.in ${PROJECT_BINARY_DIR}/dodynConfig.cmake
                              INSTALL_DESTINATION ${config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dodynConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dodynConfig.cmake ${PROJECT_BINARY_DIR}/dodynConfigVersion.cmake DESTINATION ${config})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dodyn FILES_MATCHING PATTERN *.hpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/surrogate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dodyn
        FILES_MATCHING PATTERN *.hpp)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/jobs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${data} USE_SOURCE_PERMISSIONS)
if(EXISTS ${PROJECT_SOURCE_DIR}/models)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/models DESTINATION ${data})
endif()
# `import dodyn`: a link in the folder of Python's packages under the prefix leads to the one copy of the package.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python DESTINATION ${data}
        PATTERN __pycache__ EXCLUDE PATTERN .mypy_cache EXCLUDE PATTERN build EXCLUDE PATTERN *.egg-info EXCLUDE)
set(DODYN_PYTHON_PACKAGES "" CACHE STRING "Folder of Python packages below the prefix; empty: the one of /usr/bin/python3")
install(CODE "set(dodyn_packages \"${DODYN_PYTHON_PACKAGES}\")
  set(dodyn_python \"${CMAKE_INSTALL_DATADIR}/dodyn/python/dodyn\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/link_python.cmake)
install(FILES ${PROJECT_SOURCE_DIR}/docs/dodyn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/completion.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dodyn)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} # the manual that README.md links to
        FILES_MATCHING PATTERN *.md PATTERN *.png PATTERN *.svg PATTERN site EXCLUDE)

# The reference of exactly this program.
install(CODE "execute_process(COMMAND \"$<TARGET_FILE:dodyn>\" help --markdown
  OUTPUT_FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/reference.md\" COMMAND_ERROR_IS_FATAL ANY)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the dodyn authors <dodyn@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-h5py, python3-matplotlib, node-d3, libjs-three")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-pandas, python3-xarray, ffmpeg")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_STRIP_FILES ON)
include(CPack)
