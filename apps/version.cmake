# cmake -DSOURCE=... -DOUTPUT=... -DDODYN_VERSION=... -P version.cmake: which version and commit is being built. Runs at
# every build; the header, and what includes it, changes only when they do.
find_package(Git QUIET)
set(DODYN_GIT_COMMIT unknown)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=40 --exclude=*
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE described RESULT_VARIABLE status ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    set(DODYN_GIT_COMMIT ${described})
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.hpp.in ${OUTPUT} @ONLY)
