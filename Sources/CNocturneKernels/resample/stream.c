// The prefilter of spline.c and its sums along the axis perpendicular to the planes, through a sliding window.
#include "nk_resample.h"
#include "spline.h"

#pragma STDC FP_CONTRACT OFF

/// The samples of plane `position` of the stream `s`.
#define NK_PLANE(position) (ring + ((position) % s->slots) * s->plane_step)

/// The first coefficient of the forward pass, once the whole signal, or the part of it that has an effect, is
/// available.
NK_INLINE void begin_pass(const nk_stream *s, double *restrict ring, ptrdiff_t lanes)
{
    double power = power_of_pole(s->samples), first[lane_block], sum[lane_block], factor = pole;
    const double *behind = NK_PLANE(s->samples - 1);
    for (ptrdiff_t l = 0; l < lanes; l++) {
        first[l] = ring[l] * gain;
        sum[l] = power == 0 ? first[l] : first[l] + power * (behind[l] * gain);
    }
    for (ptrdiff_t i = 1; i < s->loaded && fabs(factor) > negligible; i++) {
        const double *ahead = NK_PLANE(i);
        behind = NK_PLANE(s->samples - 1 - i);
        if (power == 0)
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += factor * (ahead[l] * gain);
        else
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += factor * (ahead[l] * gain + power * (behind[l] * gain));
        factor *= pole;
    }
    double scale = pole / (1.0 - power * power);
    for (ptrdiff_t l = 0; l < lanes; l++) ring[l] = sum[l] * scale + first[l];
}

NK_INLINE void forward_pass(const nk_stream *s, double *restrict ring, ptrdiff_t lanes)
{
    ptrdiff_t start = s->loaded_before;
    if (start == 0) {
        begin_pass(s, ring, lanes);
        start = 1;
    }
    for (ptrdiff_t i = start; i < s->loaded; i++) {
        double *restrict here = NK_PLANE(i);
        const double *restrict before = NK_PLANE(i - 1);
        for (ptrdiff_t l = 0; l < lanes; l++) here[l] = here[l] * gain + pole * before[l];
    }
}

/// If the signal continues, the error of the assumed end value decays to zero before the first sample that is kept.
NK_INLINE void backward_pass(const nk_stream *s, double *restrict ring, ptrdiff_t lanes)
{
    double run[lane_block], last = pole / (pole - 1.0);
    const double *end = NK_PLANE(s->loaded - 1);
    for (ptrdiff_t l = 0; l < lanes; l++) run[l] = end[l] * last;
    ptrdiff_t i = s->loaded - 1;
    if (i < s->final) {
        double *restrict here = NK_PLANE(i);
        for (ptrdiff_t l = 0; l < lanes; l++) here[l] = run[l];
    }
    for (i--; i >= s->final; i--) {
        const double *restrict here = NK_PLANE(i);
        for (ptrdiff_t l = 0; l < lanes; l++) run[l] = pole * (run[l] - here[l]);
    }
    for (; i >= s->final_before; i--) {
        double *restrict here = NK_PLANE(i);
        for (ptrdiff_t l = 0; l < lanes; l++) here[l] = run[l] = pole * (run[l] - here[l]);
    }
}

/// The outputs of a stream for `lanes` adjacent signals.
NK_INLINE void stream_block(const nk_stream *s, ptrdiff_t lane, ptrdiff_t lanes, float *out)
{
    double *restrict ring = s->ring + lane;
    if (s->is_filtered) {
        forward_pass(s, ring, lanes);
        backward_pass(s, ring, lanes);
    }
    for (ptrdiff_t k = s->first_output; k < s->end_output; k++) {
        double sum[lane_block];
        const double *tap = NK_PLANE(s->axis.indices[k]);
        double weight = s->axis.weights[k];
        for (ptrdiff_t l = 0; l < lanes; l++) sum[l] = tap[l] * weight;
        for (int t = 1; t < s->axis.taps; t++) {
            tap = NK_PLANE(s->axis.indices[t * s->axis.outputs + k]);
            weight = s->axis.weights[t * s->axis.outputs + k];
            for (ptrdiff_t l = 0; l < lanes; l++) sum[l] += tap[l] * weight;
        }
        float *to = out + k * s->out_plane_step;
        if (s->out_step == 1)
            for (ptrdiff_t l = 0; l < lanes; l++) to[l] = (float)sum[l];
        else
            for (ptrdiff_t l = 0; l < lanes; l++) to[l * s->out_step] = (float)sum[l];
    }
}

NK_INLINE void nk_resample_stream_body(const nk_stream *s, ptrdiff_t lane, ptrdiff_t lanes, float *out)
{
    ptrdiff_t l = 0;
    for (; l + lane_block <= lanes; l += lane_block) stream_block(s, lane + l, lane_block, out + l * s->out_step);
    if (l < lanes) stream_block(s, lane + l, lanes - l, out + l * s->out_step);
}

NK_VARIANTS(
    void, nk_resample_stream, (const nk_stream *s, ptrdiff_t lane, ptrdiff_t lanes, float *out), (s, lane, lanes, out))
