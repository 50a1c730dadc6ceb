# sluice_module(NAME [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...] [TESTS ...] [TEST_LINKS ...])
# The target of one folder: a static library, or an interface one when it has headers alone, and one test
# program `NAME_test` of the folder's *_test.cc files.
function(sluice_module NAME)
  cmake_parse_arguments(M "" "" "SOURCES;LINKS;PRIVATE_LINKS;TESTS;TEST_LINKS" ${ARGN})
  if(M_SOURCES)
    add_library(${NAME} STATIC ${M_SOURCES})
    target_include_directories(${NAME} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:include>)
    target_link_libraries(${NAME} PUBLIC ${M_LINKS} PRIVATE ${M_PRIVATE_LINKS})
  else()
    add_library(${NAME} INTERFACE)
    target_include_directories(${NAME} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                 $<INSTALL_INTERFACE:include>)
    target_link_libraries(${NAME} INTERFACE ${M_LINKS} ${M_PRIVATE_LINKS})
  endif()
  if(SLUICE_TESTS AND M_TESTS)
    sluice_test(${NAME}_test SOURCES ${M_TESTS} LINKS ${NAME} ${M_TEST_LINKS})
  endif()
endfunction()

# sluice_test(NAME SOURCES ... [LINKS ...]): a GoogleTest program whose cases are found by ctest one by one.
function(sluice_test NAME)
  cmake_parse_arguments(T "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${NAME} ${T_SOURCES})
  target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PRIVATE ${T_LINKS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 240)
endfunction()
