#include "../idf.h"
