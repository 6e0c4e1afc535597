/* Loops over voxels, in C so that each can be compiled for several instruction sets and selected at run time.

   Five families, each a folder with a header: conv/ (convolution), ops/ (the other operators of networks), resample/
   (resampling, labelling and blending), project/ (projections along the axes of a volume) and render/ (rays through a
   volume). peak/ has the loops that measure what a processor can do at most.

   conv/ has three layers: the description of a layer and of the instruction sets (description/), the plan, a pure function
   of the two (plan/), and the execution (run/), with the kernels that it calls (kernels/). Files use only files of the
   same layer and of those before it. */
#pragma once
#include "nk_conv.h"
#include "nk_ops.h"
#include "nk_peak.h"
#include "nk_project.h"
#include "nk_rays.h"
#include "nk_resample.h"
