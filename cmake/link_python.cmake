# At install time: PREFIX/FOLDER/dodyn, a relative link to `dodyn_python` (below the prefix). FOLDER is `dodyn_packages`; where that is
# empty, the folder below PREFIX/lib in which Python looks for packages, else that of a virtual environment with this prefix.
# CPack stages in a folder of its own, .../_CPack_Packages/SYSTEM/GENERATOR/NAME/PREFIX.
string(REGEX REPLACE "^.*/_CPack_Packages/[^/]+/[^/]+/[^/]+/" "/" dodyn_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT dodyn_packages)
  execute_process(COMMAND /usr/bin/python3 -c "
import site, sys, sysconfig
prefix = sys.argv[1].rstrip('/')
own = [folder for folder in site.getsitepackages() if folder.startswith(prefix + '/lib')]
scheme = sysconfig.get_path('purelib', 'posix_prefix', vars={'base': prefix})
print((own + [scheme])[0][len(prefix) + 1:])" ${dodyn_prefix}
    OUTPUT_VARIABLE dodyn_packages OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(STATUS "No /usr/bin/python3: the Python package is in ${CMAKE_INSTALL_PREFIX}/${dodyn_python}")
    return()
  endif()
endif()
set(folder $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${dodyn_packages})
file(RELATIVE_PATH target ${folder} $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${dodyn_python})
file(MAKE_DIRECTORY ${folder})
file(REMOVE ${folder}/dodyn)
file(CREATE_LINK ${target} ${folder}/dodyn SYMBOLIC)
message(STATUS "Installing: ${folder}/dodyn -> ${target}")
