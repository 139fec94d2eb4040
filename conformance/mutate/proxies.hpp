#pragma once
// Everything that a generated file uses.
#include "conformance/mutate/mutant.hpp"
#include "conformance/mutate/proxies_operators.hpp"
#include "conformance/mutate/proxies_values.hpp"
