# Finds the model compiler, once per configuration.
#
# In this order: TIGRIS_PYTHON as a CMake variable, TIGRIS_PYTHON in the environment, ESP-IDF's own Python, the
# `tigris` command on the path.

# tigris_find_compiler(<command> <sources>)
#
# <command>: the command as a list, to append arguments. <sources>: the compiler's files that influence a plan.
function(tigris_find_compiler command_variable sources_variable)
    # A checkout as component has the compiler's sources.
    set(source "\"${TIGRIS_COMPONENT_DIR}\"")
    if(NOT EXISTS "${TIGRIS_COMPONENT_DIR}/pyproject.toml")
        set(source "FOLDER, a checkout of tigris-pio")
    endif()
    idf_build_get_property(idf_python PYTHON)
    set(named "${TIGRIS_PYTHON}")
    if(NOT named)
        set(named "$ENV{TIGRIS_PYTHON}")
    endif()
    if(named)
        __tigris_probe("${named}" folder reason)
        if(NOT folder)
            set(remedy "Give the path of a Python that has the compiler")
            if(reason MATCHES "^lacks ")
                set(remedy "Install the compiler into it:  \"${named}\" -m pip install ${source}")
            endif()
            message(FATAL_ERROR "tigris_add_model: TIGRIS_PYTHON = ${named} ${reason}.\n${remedy}")
        endif()
        set(command "${named}" -m tigris_pio)
    else()
        __tigris_probe("${idf_python}" folder reason)
        set(command "${idf_python}" -m tigris_pio)
        if(NOT folder)
            find_program(TIGRIS_COMMAND tigris)
            __tigris_python_of("${TIGRIS_COMMAND}" python)
            unset(TIGRIS_COMMAND CACHE)
            if(python)
                __tigris_probe("${python}" folder other_reason)
                set(command "${python}" -m tigris_pio)
            endif()
        endif()
        if(NOT folder)
            message(FATAL_ERROR "tigris_add_model: the model compiler was not found: ESP-IDF's Python, "
                "${idf_python}, ${reason}, and no working `tigris` is on the path.\n"
                "Install it:  \"${idf_python}\" -m pip install ${source}\n"
                "or name a Python that has it:  idf.py -DTIGRIS_PYTHON=/path/to/python reconfigure")
        endif()
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.py")
    # The harness, reports and the host library do not influence a plan; the layout of partitions does.
    list(FILTER sources EXCLUDE REGEX "/(hil|report|verify|host|emulated|__pycache__)/")
    set(${command_variable} "${command}" PARENT_SCOPE)
    set(${sources_variable} "${sources}" PARENT_SCOPE)
endfunction()

# Sets the package's folder in <python>, or an empty string and the reason.
function(__tigris_probe python folder_variable reason_variable)
    set(${folder_variable} "" PARENT_SCOPE)
    execute_process(COMMAND "${python}" "${TIGRIS_COMPONENT_DIR}/cmake/probe.py"
        RESULT_VARIABLE status OUTPUT_VARIABLE answer ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0 OR NOT answer MATCHES "^(found|lacks) (.*)$")
        set(${reason_variable} "cannot be run" PARENT_SCOPE)
    elseif(CMAKE_MATCH_1 STREQUAL "lacks")
        set(${reason_variable} "lacks ${CMAKE_MATCH_2}" PARENT_SCOPE)
    else()
        file(TO_CMAKE_PATH "${CMAKE_MATCH_2}" folder)
        set(${folder_variable} "${folder}" PARENT_SCOPE)
    endif()
endfunction()

# Sets <result> to the interpreter of pip's console script: in its first line, or in the second if sh wraps it.
function(__tigris_python_of script result)
    set(${result} "" PARENT_SCOPE)
    if(NOT script)
        return()
    endif()
    file(STRINGS "${script}" lines LIMIT_COUNT 2 LIMIT_INPUT 1024)
    if("${lines}" MATCHES "^#!(/[^;]*python[^; ]*)(;|$)" OR "${lines}" MATCHES "'''exec' \"?(/[^\";]+)\"? \"")
        set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
endfunction()
