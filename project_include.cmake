# What the component offers to a project's own CMake files: tigris_add_model. See docs/esp-idf.md.
set(TIGRIS_COMPONENT_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Carries the folder of generated headers, and the step that writes them, to whoever requires the component.
if(NOT TARGET tigris_generated)
    add_library(tigris_generated INTERFACE)
    target_include_directories(tigris_generated INTERFACE "${CMAKE_BINARY_DIR}/tigris")
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/tigris")
endif()

include("${TIGRIS_COMPONENT_DIR}/cmake/find_compiler.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/esp_nn.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/flash.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/add_model.cmake")
