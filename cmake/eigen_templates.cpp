#define DODYN_EIGEN_TEMPLATE template
#include "eigen_templates.hpp"
