# The release with the portable kernels' outputs; the same as in ../idf_component.yml and
# ../tigris_pio/platformio/backend.py.
set(TIGRIS_ESP_NN_RELEASE 1.2.3)
set(TIGRIS_ADD_ESP_NN "idf.py add-dependency \"espressif/esp-nn>=1.2.3,<1.2.4\"")

# tigris_fastest_backend(VARIABLE CHIP)
#
# Sets VARIABLE to the backend of `auto`: the runtime's own vector kernels on the ESP32-S3, ESP-NN on the ESP32-P4 if
# the project has the component, which the runtime's manifest requires there.
function(tigris_fastest_backend variable chip)
    set(${variable} portable PARENT_SCOPE)
    if(chip STREQUAL "esp32s3")
        set(${variable} pie PARENT_SCOPE)
        return()
    elseif(NOT chip STREQUAL "esp32p4")
        return()
    endif()
    idf_build_get_property(components BUILD_COMPONENTS)
    if("espressif__esp-nn" IN_LIST components OR "esp-nn" IN_LIST components)
        set(${variable} esp-nn PARENT_SCOPE)
        return()
    endif()
    message(STATUS "Kernels of the models: portable. On ${chip} esp-nn is faster: without it networks take 1.4 to 6 "
        "times the instructions. To use it: ${TIGRIS_ADD_ESP_NN}")
endfunction()

# tigris_use_esp_nn()
#
# Compiles the runtime with the adapter for ESP-NN. The project must have the component espressif/esp-nn.
function(tigris_use_esp_nn)
    get_property(done GLOBAL PROPERTY TIGRIS_USES_ESP_NN)
    if(done)
        return()
    endif()
    idf_build_get_property(components BUILD_COMPONENTS)
    foreach(name IN ITEMS espressif__esp-nn esp-nn)
        if(name IN_LIST components)
            idf_component_get_property(library ${name} COMPONENT_LIB)
            idf_component_get_property(folder ${name} COMPONENT_DIR)
        endif()
    endforeach()
    if(NOT library)
        message(FATAL_ERROR "tigris_add_model: BACKEND = esp-nn: the component is not part of the project; "
            "add it:  ${TIGRIS_ADD_ESP_NN}")
    endif()
    tigris_check_esp_nn("${folder}")
    get_property(runtime GLOBAL PROPERTY TIGRIS_RUNTIME_LIBRARY)
    target_compile_definitions(${runtime} PRIVATE TIGRIS_ESP_NN)
    target_link_libraries(${runtime} PRIVATE ${library})
    set_property(GLOBAL PROPERTY TIGRIS_USES_ESP_NN TRUE)
endfunction()

# tigris_check_esp_nn(FOLDER)
#
# Fails if ESP-NN in FOLDER is another release: those before silently give wrong outputs on the ESP32-S3.
function(tigris_check_esp_nn folder)
    set(version "")
    if(EXISTS "${folder}/idf_component.yml")
        file(STRINGS "${folder}/idf_component.yml" line REGEX "^version:")
        string(REGEX MATCH "[0-9][0-9.]*" version "${line}")
    endif()
    if(NOT version STREQUAL TIGRIS_ESP_NN_RELEASE)
        if(NOT version)
            set(version "of no known release (its idf_component.yml names none)")
        else()
            string(APPEND version ", whose outputs may be wrong")
        endif()
        message(FATAL_ERROR "tigris_add_model: BACKEND = esp-nn: ESP-NN in ${folder} is ${version}; the release with the "
            "portable kernels' outputs is ${TIGRIS_ESP_NN_RELEASE}; write  espressif/esp-nn: \">=1.2.3,<1.2.4\"  in the project's "
            "idf_component.yml")
    endif()
endfunction()
