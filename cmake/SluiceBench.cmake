# sluice_bench(NAME SOURCES ... [LINKS ...])
# A benchmark, built as build/PRESET/bench/NAME, where `./dev bench` finds it. Each takes --smoke (run for
# a second or two) and has a row in bench/README.md.
function(sluice_bench NAME)
  cmake_parse_arguments(B "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(bench_${NAME} ${B_SOURCES})
  target_include_directories(bench_${NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${NAME} PRIVATE ${B_LINKS})
  set_target_properties(bench_${NAME} PROPERTIES
    OUTPUT_NAME ${NAME} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()
