# What the component offers to a project's own CMake files: tigris_add_model. See docs/esp-idf.md.
set(TIGRIS_COMPONENT_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Carries the folder of generated headers, and the step that writes them, to whoever requires the component.
if(NOT TARGET tigris_generated)
    add_library(tigris_generated INTERFACE)
    target_include_directories(tigris_generated INTERFACE "${CMAKE_BINARY_DIR}/tigris")
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/tigris")
endif()

# How the runtime, and models that are C, are compiled, behind the project's own options: for speed, unless
# tigris_add_model was given OPTIMIZE size. With HOT, executor and int8 kernels lie in internal memory.
set(TIGRIS_OPTIMIZATION "$<IF:$<STREQUAL:$<TARGET_PROPERTY:tigris_generated,TIGRIS_OPTIMIZE>,size>,-Os,-O2>")
list(APPEND TIGRIS_OPTIMIZATION "$<$<BOOL:$<TARGET_PROPERTY:tigris_generated,TIGRIS_HOT>>:-DTIGRIS_HOT_IN_IRAM>")

include("${TIGRIS_COMPONENT_DIR}/cmake/find_compiler.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/esp_nn.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/flash.cmake")
include("${TIGRIS_COMPONENT_DIR}/cmake/add_model.cmake")
