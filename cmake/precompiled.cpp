// Compiled to make the headers of the target dodyn_precompiled; see CMakeLists.txt.
