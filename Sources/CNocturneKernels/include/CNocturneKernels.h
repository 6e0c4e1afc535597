/* Loops over voxels, in C so that each can be built for the instruction sets of the processor it finds itself on. */
#pragma once
#include "nk_conv.h"
#include "nk_ops.h"
#include "nk_pictures.h"
#include "nk_resample.h"
