include("${CMAKE_CURRENT_LIST_DIR}/../../project_include.cmake")
