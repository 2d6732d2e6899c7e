# tigris_fastest_backend(VARIABLE CHIP)
#
# Sets VARIABLE to what `auto` is on a chip: ESP-NN where it has assembly and the project has the component, which the
# runtime's own manifest asks for on these chips.
function(tigris_fastest_backend variable chip)
    set(${variable} portable PARENT_SCOPE)
    if(NOT chip MATCHES "^esp32(s3|p4)$")
        return()
    endif()
    idf_build_get_property(components BUILD_COMPONENTS)
    if("espressif__esp-nn" IN_LIST components OR "esp-nn" IN_LIST components)
        set(${variable} esp-nn PARENT_SCOPE)
        return()
    endif()
    message(STATUS "Kernels of the models: portable. On ${chip} esp-nn is faster: without it convolutions take 4 to 6 "
        "times the instructions. For it: idf.py add-dependency espressif/esp-nn")
endfunction()

# tigris_use_esp_nn()
#
# Compiles the runtime with the adapter of ESP-NN. The library is the component espressif/esp-nn, which the project must
# have.
function(tigris_use_esp_nn)
    get_property(done GLOBAL PROPERTY TIGRIS_USES_ESP_NN)
    if(done)
        return()
    endif()
    idf_build_get_property(components BUILD_COMPONENTS)
    foreach(name IN ITEMS espressif__esp-nn esp-nn)
        if(name IN_LIST components)
            idf_component_get_property(library ${name} COMPONENT_LIB)
        endif()
    endforeach()
    if(NOT library)
        message(FATAL_ERROR "tigris_add_model: BACKEND = esp-nn: the component is not part of the project; "
            "add it:  idf.py add-dependency espressif/esp-nn")
    endif()
    get_property(runtime GLOBAL PROPERTY TIGRIS_RUNTIME_LIBRARY)
    target_compile_definitions(${runtime} PRIVATE TIGRIS_ESP_NN)
    target_link_libraries(${runtime} PRIVATE ${library})
    set_property(GLOBAL PROPERTY TIGRIS_USES_ESP_NN TRUE)
endfunction()
