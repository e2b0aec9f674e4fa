# Writes OUTPUT, a C++ file that holds the texts MODELS by their names.
set(text "// Made from models/*.model; edit those.\n#include \"systems/model.hpp\"\n\nnamespace dodyn::systems {\n\n")
string(APPEND text "const std::map<std::string, std::string>& shipped_models() {\n")
string(APPEND text "  static const std::map<std::string, std::string> models = {\n")
foreach(model ${MODELS})
  get_filename_component(name ${model} NAME_WE)
  file(READ ${model} content)
  # compilers take string literals of up to 64 kB
  string(APPEND text "      {\"${name}\", R\"model(${content})model\"},\n")
endforeach()
string(APPEND text "  };\n  return models;\n}\n\n}  // namespace dodyn::systems\n")
file(WRITE ${OUTPUT} "${text}")
