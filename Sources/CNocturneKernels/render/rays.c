// Direct volume rendering: one ray, composited from front to back (Levoy, Display of surfaces from volume data, 1988).
#include "nk_rays.h"

#include <math.h>
#include <string.h>

#include "../variants.h"

#pragma STDC FP_CONTRACT OFF

enum { block_shift = 3, table_shift = 4 };

// Nothing is seen behind what lets less light pass.
static const float least_transparency = 1.0f / 128;
// What contributes less than this to a pixel is drawn as a place inside, whatever its gradient.
static const float least_lit = 1.0f / 256;

// Brightness: of a surface, that of the lamp at the viewer; of places that are none; of a reflection.
static const float ambient = 0.25f;
static const float diffuse = 0.75f;
static const float inside = 0.75f;
static const float specular = 0.18f;

// Four voxels, or numbers, along the first axis.
typedef float four __attribute__((vector_size(16)));

NK_INLINE four load_four(const uint16_t *voxels)
{
    typedef uint16_t stored __attribute__((vector_size(8)));
    typedef int32_t widened __attribute__((vector_size(16)));
    stored values;
    memcpy(&values, voxels, sizeof values);
    return __builtin_convertvector(__builtin_convertvector(values, widened), four);
}

NK_INLINE four mixed(four first, four second, float share) { return first + (second - first) * share; }

NK_INLINE float between(float first, float second, float share) { return first + (second - first) * share; }

NK_INLINE float limited(float value, float lower, float upper)
{
    return value < lower ? lower : value > upper ? upper : value;
}

typedef struct {
    float place[3];
    int32_t index[3];
    float share[3];
} location;

NK_INLINE location locate(const nk_ray_scene *scene, const float *origin, float sample)
{
    location found;
    for (int axis = 0; axis < 3; axis++) {
        float place = limited(origin[axis] + scene->step[axis] * sample, 0, (float)(scene->size[axis] - 1));
        found.place[axis] = place;
        found.index[axis] = (int32_t)place;
        found.share[axis] = place - (float)found.index[axis];
    }
    return found;
}

// The samples in the volume: from the first one to before the second one.
NK_INLINE void samples_inside(const nk_ray_scene *scene, const float *origin, int32_t *first, int32_t *end)
{
    float near = 0, far = 1 << 20;
    for (int axis = 0; axis < 3; axis++) {
        float step = scene->step[axis];
        if (step == 0) {
            if (origin[axis] < -0.5f || origin[axis] >= scene->end[axis]) far = 0;
            continue;
        }
        float a = (-0.5f - origin[axis]) / step, b = (scene->end[axis] - origin[axis]) / step;
        near = fmaxf(near, fminf(a, b));
        far = fminf(far, fmaxf(a, b));
    }
    // Where the ray misses the volume, neither need be a number that fits.
    *first = near < far ? (int32_t)ceilf(near) : 0;
    *end = near < far ? (int32_t)ceilf(far) : 0;
}

// The first sample behind a block; `end` if there is none.
NK_INLINE int32_t sample_behind(const nk_ray_scene *scene, const int32_t *block, const float *origin, int32_t end)
{
    float next = (float)end;
    for (int axis = 0; axis < 3; axis++) {
        float step = scene->step[axis];
        if (step == 0) continue;
        int32_t edge = step > 0 ? block[axis] + 1 : block[axis];
        // Before the first block and behind the last one, only the volume ends.
        if (edge == 0 || edge == scene->blocks[axis]) continue;
        next = fminf(next, ((float)(edge << block_shift) - origin[axis]) / step);
    }
    return (int32_t)ceilf(fmaxf(next, 0));
}

// The light that a surface or a place inside sends to the viewer: a factor for its colour, and white.
NK_INLINE void light(const nk_ray_scene *scene, const float *along, float *factor, float *white)
{
    float slope[3], square = 0, facing = 0;
    for (int row = 0; row < 3; row++) {
        const float *weights = scene->gradient + 3 * row;
        slope[row] = weights[0] * along[0] + weights[1] * along[1] + weights[2] * along[2];
        square += slope[row] * slope[row];
        facing += slope[row] * scene->forward[row];
    }
    float size = sqrtf(square);
    float surface = size / (size + scene->surface_gradient);
    // A thin layer is lit from either side.
    facing = size > 0 ? fabsf(facing) / size : 0;
    float reflected = facing * facing;
    for (int doubling = 0; doubling < 4; doubling++) reflected *= reflected;
    *factor = inside + (ambient + diffuse * facing - inside) * surface;
    *white = specular * reflected * surface;
}

// The gradient is the difference of the places one voxel before and behind, which lie between their voxels as the sample does
// between its own.
NK_INLINE void find_gradient(
    const nk_ray_scene *scene, const uint16_t *corner, const float *share, const four *lines, float *along)
{
    const ptrdiff_t row = scene->row, plane = scene->plane;
    four before = mixed(load_four(corner - row), load_four(corner - row + plane), share[2]);
    four behind = mixed(load_four(corner + 2 * row), load_four(corner + 2 * row + plane), share[2]);
    four below = mixed(load_four(corner - plane), load_four(corner - plane + row), share[1]);
    four above = mixed(load_four(corner + 2 * plane), load_four(corner + 2 * plane + row), share[1]);
    four here = mixed(lines[0], lines[1], share[1]);
    along[0] = (between(here[2], here[3], share[0]) - between(here[0], here[1], share[0])) / 2;
    four across = mixed(lines[1], behind, share[1]) - mixed(before, lines[0], share[1]);
    along[1] = between(across[1], across[2], share[0]) / 2;
    // The planes of the sample, at the same place of the second axis.
    four lower = mixed(load_four(corner), load_four(corner + row), share[1]);
    four upper = mixed(load_four(corner + plane), load_four(corner + plane + row), share[1]);
    four through = mixed(upper, above, share[2]) - mixed(below, lower, share[2]);
    along[2] = between(through[1], through[2], share[0]) / 2;
}

NK_INLINE const float *color_at(const nk_ray_scene *scene, const float *place, const float *entry)
{
    if (!scene->labels) return entry;
    ptrdiff_t nearest = 0;
    for (int axis = 2; axis >= 0; axis--) nearest = nearest * scene->size[axis] + (ptrdiff_t)(place[axis] + 0.5f);
    uint16_t label = scene->labels[nearest];
    return label ? scene->colors + 4 * (ptrdiff_t)label : entry;
}

NK_INLINE void nk_cast_ray_body(const nk_ray_scene *scene, const float *origin, float *seen)
{
    int32_t sample, end;
    float transparency = 1;
    memset(seen, 0, 4 * sizeof *seen);
    samples_inside(scene, origin, &sample, &end);
    while (sample < end) {
        location at = locate(scene, origin, (float)sample);
        int32_t block[3] = {at.index[0] >> block_shift, at.index[1] >> block_shift, at.index[2] >> block_shift};
        if (!scene->visible[block[0] + (ptrdiff_t)scene->blocks[0] * (block[1] + scene->blocks[1] * block[2])]) {
            int32_t next = sample_behind(scene, block, origin, end);
            sample = next > sample ? next : sample + 1;
            continue;
        }
        sample++;
        const uint16_t *corner =
            scene->voxels + at.index[0] + scene->row * at.index[1] + scene->plane * at.index[2] - 1;
        four lines[2];
        for (int line = 0; line < 2; line++) {
            const uint16_t *voxels = corner + line * scene->row;
            lines[line] = mixed(load_four(voxels), load_four(voxels + scene->plane), at.share[2]);
        }
        four here = mixed(lines[0], lines[1], at.share[1]);
        int32_t value = (int32_t)between(here[1], here[2], at.share[0]);
        const float *entry = scene->table + 4 * (ptrdiff_t)(value >> table_shift);
        if (entry[3] <= 0) continue;
        float part = entry[3] * transparency;
        float factor = inside, white = 0;
        if (part > least_lit) {
            float along[3];
            find_gradient(scene, corner, at.share, lines, along);
            light(scene, along, &factor, &white);
        }
        const float *color = color_at(scene, at.place, entry);
        for (int channel = 0; channel < 3; channel++) seen[channel] += (color[channel] * factor + white) * part;
        transparency *= 1 - entry[3];
        if (transparency < least_transparency) {
            transparency = 0;
            break;
        }
    }
    seen[3] = 1 - transparency;
}

NK_VARIANTS(
    void, nk_cast_ray, (const nk_ray_scene *scene, const float *origin, float *seen), (scene, origin, seen))
