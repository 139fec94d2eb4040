#pragma once
#include "reference/core/tensor.hpp"

/// Elementary functions of `double` with the same bits on every machine: SLEEF's deterministic forms
/// (`Sleef_cinz_*_u10`, compiled without fma), mended where they are wrong (exp and log1p, see math.cpp); within 1 ulp
/// of the exact value, subnormal results included. The array forms give the bits of the scalar ones. Never the C
/// library's: its results change with the processor it runs on.
namespace assay::math {

double exp(double x);
double exp2(double x);
double expm1(double x);
double log(double x);
double log2(double x);
double log1p(double x);
double sin(double x);
double cos(double x);
double tanh(double x);
double erf(double x);
/// Infinite already for results beyond exp(709.782711149557) = 1.7976899e308 in magnitude.
double pow(double x, double y);
/// Correctly rounded (IEEE 754).
double sqrt(double x);

/// y[i] = f(x[i]) for i in 0..n-1; y may be x.
void exp(const double* x, double* y, Index n);
void exp2(const double* x, double* y, Index n);
void expm1(const double* x, double* y, Index n);
void log(const double* x, double* y, Index n);
void log2(const double* x, double* y, Index n);
void log1p(const double* x, double* y, Index n);
void sin(const double* x, double* y, Index n);
void cos(const double* x, double* y, Index n);
void tanh(const double* x, double* y, Index n);
void erf(const double* x, double* y, Index n);

}  // namespace assay::math
