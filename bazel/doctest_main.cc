// The main function shared by all test programs; reshard_cc_test links it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "doctest/doctest.h"
