# Installs BUILT into a folder of its own, takes the README's CMakeLists.txt and program (its one
# ```cmake and its one ```cpp block), builds them there with COMPILER and runs the program, which
# must succeed and refuse something.
set(work ${BUILT}/tests/install/work)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nexit status ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(READ ${README} readme)
foreach(block cmake:CMakeLists.txt cpp:main.cc)
  string(REGEX REPLACE ":.*" "" language ${block})
  string(REGEX REPLACE ".*:" "" name ${block})
  if(NOT readme MATCHES "```${language}\n([^`]*)```")
    message(FATAL_ERROR "${README} has no ${language} block")
  endif()
  file(WRITE ${work}/program/${name} "${CMAKE_MATCH_1}")
endforeach()

run(${CMAKE_COMMAND} --install ${BUILT} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${work}/program -B ${work}/build -G Ninja
    -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/program)
message(STATUS "${output}")
if(NOT output MATCHES "refused")
  message(FATAL_ERROR "the program's limiter refused nothing")
endif()
run(${work}/prefix/bin/sluice --version)
