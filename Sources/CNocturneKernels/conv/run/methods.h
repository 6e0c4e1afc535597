// The methods of computing a chunk: each computes the units `first ..< end` over the job's box in one sub-grid. Layer 3,
// execution.

#pragma once

#include "job.h"

/// Sums of products with the vector kernels (vectors.c) and on matrix tiles (matrix.c).
void nk_conv_run_vectors(const conv_job *job, int first, int end);
void nk_conv_run_matrix(const conv_job *job, int first, int end);

/// Minimal filtering along y and x (minimal.c), and along z, too (minimal_z.c).
void nk_conv_run_minimal(const conv_job *job, int first, int end);
void nk_conv_run_minimal_z(const conv_job *job, int first, int end);

/// The baseline: OpenBLAS products of gathered rows (portable.c).
void nk_conv_run_portable(const conv_job *job, int first, int end);
