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
