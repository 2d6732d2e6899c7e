#include "idf.h"
