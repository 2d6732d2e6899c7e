# tigris_add_model: compiles an ONNX or TensorFlow Lite model with the firmware and flashes its plan, or makes it C that
# is compiled with the firmware.
#
#     tigris_add_model(MODEL models/kws.onnx MEM 256K+8M [NAME kws] [FLASH 4M] [XIP] [COPY_WEIGHTS]
#                      [COMPRESS none|lz4] [DIMS length=512 ...] [SET sr=16000 ...] [STATE h_out=h ...] [HOP 1]
#                      [STREAM image ...]
#                      [LIMITS nodes=200000 ...] [PARTITION model] [OFFSET 0x20000]
#                      [MATCH interface|shape|exact] [CHECK yes|no] [BACKEND auto|portable|esp-nn|pie]
#                      [SLOTS 1|2] [SLOT_SIZE 128K] [CORES 1|2] [MODE plan|c] [WEIGHTS c|partition])
#
# Call it in a component after idf_component_register, or in the project's CMakeLists.txt after project(). The files are
# laid out when the project's CMakeLists.txt has been read to its end, with all models known.

# What the compiler says that it read holds in folders below the project's too.
if(POLICY CMP0116)
    cmake_policy(SET CMP0116 NEW)
endif()

function(tigris_add_model)
    # PlatformIO reads these files for their flags only; its extra script, which sets the variable, compiles and flashes.
    # Without that script the folder of ESP-IDF tells PlatformIO.
    if(DEFINED ENV{TIGRIS_PLATFORMIO} OR "$ENV{IDF_PATH}" MATCHES "/framework-espidf[^/\\]*/?$")
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 0 arg "XIP;COPY_WEIGHTS"
        "NAME;MODEL;MEM;FLASH;COMPRESS;PARTITION;OFFSET;MATCH;CHECK;BACKEND;SLOTS;SLOT_SIZE;HOP;CORES;MODE;WEIGHTS"
        "DIMS;SET;STATE;STREAM;LIMITS")
    __tigris_check_arguments()
    __tigris_find_model("${arg_MODEL}" model)
    if(NOT arg_NAME)
        get_filename_component(arg_NAME "${arg_MODEL}" NAME_WE)
        string(MAKE_C_IDENTIFIER "${arg_NAME}" arg_NAME)
    endif()
    if(NOT arg_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "tigris_add_model: NAME = ${arg_NAME}: use letters, digits and underscores, no digit first, "
            "for it becomes part of a C name")
    endif()
    if(arg_WEIGHTS AND NOT arg_WEIGHTS MATCHES "^(c|partition)$")
        message(FATAL_ERROR "tigris_add_model: WEIGHTS = ${arg_WEIGHTS}: must be c or partition")
    endif()
    if(arg_WEIGHTS STREQUAL "partition" AND NOT arg_MODE STREQUAL "c")
        message(FATAL_ERROR "tigris_add_model: WEIGHTS = partition: is for models that are C, a plan has its weights in "
            "it; add MODE c, or leave it out")
    endif()
    if(arg_MODE STREQUAL "c")
        __tigris_add_c()
        return()
    elseif(arg_MODE AND NOT arg_MODE STREQUAL "plan")
        message(FATAL_ERROR "tigris_add_model: MODE = ${arg_MODE}: must be plan or c")
    endif()
    __tigris_check_name()
    if(NOT names)
        # The kernels of these models, and no others, are what tigris_session_init takes.
        get_property(runtime GLOBAL PROPERTY TIGRIS_RUNTIME_LIBRARY)
        target_compile_definitions(${runtime} PUBLIC
            TIGRIS_MODELS_BACKEND TIGRIS_DEFAULT_BACKEND=tigris_models_backend)
        target_link_libraries(${runtime} PRIVATE tigris_generated)
    endif()
    __tigris_lay_out_later()
    __tigris_place_in_flash()
    if(NOT arg_MATCH)
        set(arg_MATCH interface)
    elseif(NOT arg_MATCH MATCHES "^(interface|shape|exact)$")
        message(FATAL_ERROR "tigris_add_model: MATCH = ${arg_MATCH}: must be interface, shape or exact")
    endif()
    if(arg_CHECK AND NOT arg_CHECK MATCHES "^(yes|no)$")
        message(FATAL_ERROR "tigris_add_model: CHECK = ${arg_CHECK}: must be yes or no")
    endif()
    __tigris_check_slots()
    if(arg_CORES AND NOT arg_CORES MATCHES "^[12]$")
        message(FATAL_ERROR "tigris_add_model: CORES = ${arg_CORES}: must be 1 or 2")
    endif()
    __tigris_compile_options(options)
    if("${arg_CORES}" STREQUAL "2")
        list(APPEND options --cores 2)
        get_property(runtime GLOBAL PROPERTY TIGRIS_RUNTIME_LIBRARY)
        target_compile_definitions(${runtime} PUBLIC TIGRIS_CORES=2)
    endif()
    if(NOT arg_BACKEND OR arg_BACKEND STREQUAL "auto")
        tigris_fastest_backend(arg_BACKEND "${chip}")
    endif()
    if(arg_BACKEND STREQUAL "esp-nn")
        tigris_use_esp_nn()
        list(APPEND options --backend esp-nn --chip "${chip}")
    elseif(arg_BACKEND STREQUAL "pie")
        if(NOT chip STREQUAL "esp32s3")
            message(FATAL_ERROR "tigris_add_model: BACKEND = pie: is for esp32s3, and the project's target is ${chip}; "
                "leave it out")
        endif()
        get_property(runtime GLOBAL PROPERTY TIGRIS_RUNTIME_LIBRARY)
        target_compile_definitions(${runtime} PRIVATE TIGRIS_PIE)
        list(APPEND options --backend pie --chip "${chip}")
    elseif(arg_BACKEND AND NOT arg_BACKEND MATCHES "^(auto|portable)$")
        message(FATAL_ERROR "tigris_add_model: BACKEND = ${arg_BACKEND}: must be auto, portable, esp-nn or pie")
    endif()
    set_property(GLOBAL APPEND PROPERTY TIGRIS_MODEL_NAMES "${arg_NAME}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_FILE "${model}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_OPTIONS "${options}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_MATCH "${arg_MATCH}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_CHECK "${arg_CHECK}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_SLOTS "${arg_SLOTS}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_SLOT_SIZE "${arg_SLOT_SIZE}")
endfunction()

macro(__tigris_check_name)
    get_property(names GLOBAL PROPERTY TIGRIS_MODEL_NAMES)
    get_property(c_names GLOBAL PROPERTY TIGRIS_C_NAMES)
    foreach(name IN LISTS names c_names)
        string(TOUPPER "${name}" taken)
        string(TOUPPER "${arg_NAME}" wanted)
        if(taken STREQUAL wanted)
            message(FATAL_ERROR "tigris_add_model: NAME = ${arg_NAME}: two models have this name (${name}); names "
                "must differ, and not by case alone")
        endif()
    endforeach()
endmacro()

macro(__tigris_check_arguments)
    if(CMAKE_VERSION VERSION_LESS 3.20)
        message(FATAL_ERROR "tigris_add_model needs CMake 3.20 or later, this is ${CMAKE_VERSION}; "
            "ESP-IDF's own: idf_tools.py install cmake")
    endif()
    string(TOLOWER "${arg_COMPRESS}" compress)
    if(arg_XIP AND (arg_COPY_WEIGHTS OR compress STREQUAL "lz4"))
        set(other COPY_WEIGHTS)
        if(compress STREQUAL "lz4")
            set(other "COMPRESS ${arg_COMPRESS}")
        endif()
        message(FATAL_ERROR "tigris_add_model: XIP with ${other}: the one promises that no weight is copied to RAM, "
            "the other brings weights there; leave one out")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tigris_add_model: unknown argument ${arg_UNPARSED_ARGUMENTS}; known are NAME MODEL MEM "
            "FLASH XIP COPY_WEIGHTS COMPRESS DIMS SET STATE STREAM HOP LIMITS PARTITION OFFSET MATCH CHECK BACKEND SLOTS"
            " SLOT_SIZE CORES MODE WEIGHTS")
    endif()
    if(arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "tigris_add_model: ${arg_KEYWORDS_MISSING_VALUES} lacks its value")
    endif()
    if(NOT arg_MODEL OR NOT arg_MEM)
        message(FATAL_ERROR "tigris_add_model: MODEL and MEM are needed, such as MODEL models/kws.onnx MEM 256K+8M")
    endif()
endmacro()

# For models of which something is flashed beside the firmware.
macro(__tigris_place_in_flash)
    if(NOT arg_PARTITION)
        set(arg_PARTITION model)
    endif()
    if(NOT arg_OFFSET)
        set(arg_OFFSET auto)
    endif()
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_PARTITION "${arg_PARTITION}")
    set_property(GLOBAL PROPERTY TIGRIS_${arg_NAME}_OFFSET "${arg_OFFSET}")
endmacro()

macro(__tigris_lay_out_later)
    get_property(later GLOBAL PROPERTY TIGRIS_LAID_OUT_LATER)
    if(NOT later)
        set_property(GLOBAL PROPERTY TIGRIS_LAID_OUT_LATER TRUE)
        cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL __tigris_lay_out)
    endif()
endmacro()

# The name that the compiler's C has: another one where NAME is a keyword, a header of C, …
macro(__tigris_take_c_name)
    tigris_find_compiler(compiler compiler_sources)
    list(GET compiler 0 python)
    execute_process(COMMAND "${python}" "${TIGRIS_COMPONENT_DIR}/cmake/c_name.py" "${arg_NAME}"
        RESULT_VARIABLE status OUTPUT_VARIABLE c_name ERROR_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "tigris_add_model: NAME = ${arg_NAME}: ${python} cannot say what it is called in C: ${said}")
    endif()
    if(NOT c_name STREQUAL arg_NAME)
        message(STATUS "tigris_add_model: NAME = ${arg_NAME}: the model is ${c_name} in C, for that is no name there, or "
            "that of something else: include ${c_name}.h")
        set(arg_NAME "${c_name}")
    endif()
endmacro()

# A library of the model's C, which whoever requires the component links and includes.
macro(__tigris_add_c)
    set(of_plans MATCH CHECK SLOTS SLOT_SIZE CORES)
    if(NOT arg_WEIGHTS STREQUAL "partition")
        list(APPEND of_plans PARTITION OFFSET)
    endif()
    foreach(argument IN LISTS of_plans)
        if(arg_${argument} AND argument MATCHES "^(PARTITION|OFFSET)$")
            message(FATAL_ERROR "tigris_add_model: ${argument} = ${arg_${argument}}: is for plans, and MODE c makes none; "
                "leave one out, or add WEIGHTS partition")
        elseif(arg_${argument})
            message(FATAL_ERROR "tigris_add_model: ${argument} = ${arg_${argument}}: is for plans, and MODE c makes none; "
                "leave one out")
        endif()
    endforeach()
    if(arg_BACKEND AND NOT arg_BACKEND MATCHES "^(auto|portable)$")
        message(FATAL_ERROR "tigris_add_model: BACKEND = ${arg_BACKEND}: its kernels are called by plans only; leave it "
            "out, or MODE c")
    endif()
    __tigris_take_c_name()
    __tigris_check_name()
    __tigris_compile_options(options)
    set(folder "${CMAKE_BINARY_DIR}/tigris/c/${arg_NAME}")
    file(MAKE_DIRECTORY "${folder}")
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${TIGRIS_COMPONENT_DIR}/runtime/src/*.[ch]")
    set(weights "")
    if(arg_WEIGHTS STREQUAL "partition")
        set(weights "${folder}/${arg_NAME}_weights.bin")
        list(APPEND options --weights partition)
        set_property(GLOBAL APPEND PROPERTY TIGRIS_WEIGHTS_NAMES "${arg_NAME}")
        __tigris_place_in_flash()
        __tigris_lay_out_later()
    endif()
    add_custom_command(OUTPUT "${folder}/${arg_NAME}.c" "${folder}/${arg_NAME}.h" ${weights}
        COMMAND "${CMAKE_COMMAND}" -E env PYTHONUTF8=1 TIGRIS_CALLER=cmake ${compiler} codegen "${model}" ${options}
            --quiet -o "${folder}" --depfile "${folder}/${arg_NAME}.d"
        COMMAND "${CMAKE_COMMAND}" -E touch "${folder}/${arg_NAME}.c"
        DEPENDS ${kernels} "${model}" ${compiler_sources}
        DEPFILE "${folder}/${arg_NAME}.d"
        WORKING_DIRECTORY "${folder}"
        COMMENT "Writing model ${arg_NAME} as C"
        VERBATIM)
    add_library(tigris_c_${arg_NAME} STATIC "${folder}/${arg_NAME}.c" "${folder}/${arg_NAME}.h")
    target_include_directories(tigris_c_${arg_NAME} PUBLIC "${folder}")
    target_link_libraries(tigris_generated INTERFACE tigris_c_${arg_NAME})
    set_property(GLOBAL APPEND PROPERTY TIGRIS_C_NAMES "${arg_NAME}")
endmacro()

macro(__tigris_check_slots)
    if(arg_SLOTS AND NOT arg_SLOTS MATCHES "^[12]$")
        message(FATAL_ERROR "tigris_add_model: SLOTS = ${arg_SLOTS}: must be 1 or 2")
    endif()
    if(arg_SLOT_SIZE AND NOT "${arg_SLOTS}" STREQUAL "2")
        message(FATAL_ERROR "tigris_add_model: SLOT_SIZE = ${arg_SLOT_SIZE}: is for models with two slots; add SLOTS 2")
    endif()
    if("${arg_SLOTS}" STREQUAL "2" AND arg_FLASH AND NOT arg_SLOT_SIZE)
        # What no plan may exceed is what a slot needs to have.
        set(arg_SLOT_SIZE "${arg_FLASH}")
    endif()
    if("${arg_SLOTS}" STREQUAL "2" AND arg_MATCH STREQUAL "exact")
        message(FATAL_ERROR "tigris_add_model: SLOTS 2 with MATCH exact: the one is for plans that are updated in the "
            "field, the other opens none but the one that the firmware was built with; leave one out")
    endif()
endmacro()

# <path> relative to the calling CMakeLists.txt, or else to the project.
function(__tigris_find_model path result)
    idf_build_get_property(project PROJECT_DIR)
    foreach(folder "${CMAKE_CURRENT_SOURCE_DIR}" "${project}")
        get_filename_component(file "${path}" ABSOLUTE BASE_DIR "${folder}")
        if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
            set(${result} "${file}" PARENT_SCOPE)
            return()
        endif()
    endforeach()
    message(FATAL_ERROR "tigris_add_model: MODEL = ${path}: there is no such file in ${CMAKE_CURRENT_SOURCE_DIR} or "
        "${project}")
endfunction()

# The arguments of `tigris compile`, from those of tigris_add_model.
macro(__tigris_compile_options result)
    set(${result} -m "${arg_MEM}" --name "${arg_NAME}")
    idf_build_get_property(chip IDF_TARGET)
    if(chip STREQUAL "linux")
        # The host's processor may ask for more than the chips do.
        list(APPEND ${result} --align 32)
    endif()
    if(arg_FLASH)
        list(APPEND ${result} -f "${arg_FLASH}")
    endif()
    if(arg_XIP)
        list(APPEND ${result} --xip)
    endif()
    if(arg_COPY_WEIGHTS)
        list(APPEND ${result} --copy-weights)
    endif()
    if(arg_COMPRESS)
        list(APPEND ${result} --compress "${arg_COMPRESS}")
    endif()
    foreach(dimension IN LISTS arg_DIMS)
        list(APPEND ${result} --dim "${dimension}")
    endforeach()
    foreach(value IN LISTS arg_SET)
        list(APPEND ${result} --set "${value}")
    endforeach()
    foreach(tie IN LISTS arg_STATE)
        list(APPEND ${result} --state "${tie}")
    endforeach()
    foreach(port IN LISTS arg_STREAM)
        list(APPEND ${result} --stream "${port}")
    endforeach()
    if(DEFINED arg_HOP)
        list(APPEND ${result} --hop "${arg_HOP}")
    endif()
    foreach(limit IN LISTS arg_LIMITS)
        list(APPEND ${result} --limit "${limit}")
    endforeach()
endmacro()

# Runs at the end of the project's CMakeLists.txt: one step a model, one for all partitions.
function(__tigris_lay_out)
    get_property(names GLOBAL PROPERTY TIGRIS_MODEL_NAMES)
    idf_build_get_property(table PARTITION_TABLE_BIN_PATH)
    set(folder "${CMAKE_BINARY_DIR}/tigris")
    tigris_find_compiler(compiler compiler_sources)
    set(run "${CMAKE_COMMAND}" -E env PYTHONUTF8=1 TIGRIS_CALLER=cmake ${compiler})
    set(models "")
    set(outputs "")
    if(names)
        set(outputs "${folder}/tigris_models.h")
    endif()
    set(inputs "")
    set(partitions "")
    foreach(name IN LISTS names)
        __tigris_compile_step(${name} "${folder}" "${run}" "${compiler_sources}")
        get_property(partition GLOBAL PROPERTY TIGRIS_${name}_PARTITION)
        get_property(offset GLOBAL PROPERTY TIGRIS_${name}_OFFSET)
        list(APPEND models --model ${name} "${folder}/${name}.tgrs" "${partition}" "${offset}")
        get_property(match GLOBAL PROPERTY TIGRIS_${name}_MATCH)
        if(match STREQUAL "exact")
            list(APPEND models --exact ${name})
        elseif(match STREQUAL "shape")
            list(APPEND models --any-scale ${name})
        endif()
        get_property(check GLOBAL PROPERTY TIGRIS_${name}_CHECK)
        if(check STREQUAL "no")
            list(APPEND models --unchecked ${name})
        endif()
        get_property(slots GLOBAL PROPERTY TIGRIS_${name}_SLOTS)
        get_property(slot_size GLOBAL PROPERTY TIGRIS_${name}_SLOT_SIZE)
        if(slots STREQUAL "2")
            list(APPEND models --slots ${name})
        endif()
        if(slot_size)
            list(APPEND models --slot-size ${name} "${slot_size}")
        endif()
        list(APPEND inputs "${folder}/${name}.tgrs" "${folder}/tigris_model_${name}.h")
        list(APPEND partitions "${partition}")
    endforeach()
    get_property(names GLOBAL PROPERTY TIGRIS_WEIGHTS_NAMES)
    if(names)
        list(APPEND outputs "${folder}/tigris_weights.h")
    endif()
    foreach(name IN LISTS names)
        get_property(partition GLOBAL PROPERTY TIGRIS_${name}_PARTITION)
        get_property(offset GLOBAL PROPERTY TIGRIS_${name}_OFFSET)
        list(APPEND models --weights ${name} "${folder}/c/${name}/${name}_weights.bin" "${partition}" "${offset}")
        # Only Ninja knows by the file which step of another folder makes it.
        list(APPEND inputs tigris_c_${name} "${folder}/c/${name}/${name}_weights.bin")
        list(APPEND partitions "${partition}")
    endforeach()
    list(REMOVE_DUPLICATES partitions)
    foreach(partition IN LISTS partitions)
        list(APPEND outputs "${folder}/${partition}.bin")
    endforeach()
    add_custom_command(OUTPUT ${outputs}
        COMMAND ${run} layout ${models} --table "${table}" -o "${folder}"
        DEPENDS ${inputs} partition_table_bin "${table}" ${compiler_sources}
        WORKING_DIRECTORY "${folder}"
        COMMENT "Laying out models in flash"
        VERBATIM)
    add_custom_target(tigris_models ALL DEPENDS ${outputs})
    add_dependencies(tigris_generated tigris_models)
    foreach(partition IN LISTS partitions)
        tigris_flash_partition("${partition}" "${folder}/${partition}.bin" tigris_models)
    endforeach()
    list(GET compiler 0 python)
    tigris_compare_interfaces("${python}" "${folder}" tigris_models ${partitions})
endfunction()

function(__tigris_compile_step name folder run compiler_sources)
    get_property(model GLOBAL PROPERTY TIGRIS_${name}_FILE)
    get_property(options GLOBAL PROPERTY TIGRIS_${name}_OPTIONS)
    # The model names the files in which it keeps weights: the compiler lists them.
    add_custom_command(OUTPUT "${folder}/${name}.tgrs" "${folder}/tigris_model_${name}.h"
        COMMAND ${run} compile "${model}" ${options} --quiet
            -o "${folder}/${name}.tgrs" --header "${folder}/tigris_model_${name}.h" --depfile "${folder}/${name}.d"
        DEPENDS "${model}" ${compiler_sources}
        DEPFILE "${folder}/${name}.d"
        WORKING_DIRECTORY "${folder}"
        COMMENT "Compiling model ${name}"
        VERBATIM)
endfunction()
