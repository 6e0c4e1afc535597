// Direct volume rendering: one ray, composited from front to back (Levoy, Display of surfaces from volume data, 1988). Between
// two samples all values from one to the other are passed (Engel, Kraus and Ertl, High-quality pre-integrated volume rendering,
// 2001), so that distances between samples do not appear as rings. Labels are drawn as surfaces that what lies in front of them
// does not hide (after Viola, Kanitsar and Groeller, Importance-driven volume rendering, 2004).
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

// Of a label's surface, so that one in another can be seen.
static const float label_opacity = 0.75f;
// The most that everything in front of a label hides of it.
static const float most_hidden = 0.35f;
// What lies inside a label, and in `visible`, a block with a part of one.
enum { labelled_value = 1 << 15, visible_labels = 2 };

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

// The voxels of one kind around a place, and their value there.
typedef struct {
    const uint16_t *corner;
    four lines[2];
    int32_t value;
} neighbourhood;

NK_INLINE neighbourhood read_neighbourhood(const nk_ray_scene *scene, const uint16_t *voxels, const location *at)
{
    neighbourhood found;
    found.corner = voxels + at->index[0] + scene->row * at->index[1] + scene->plane * at->index[2] - 1;
    for (int line = 0; line < 2; line++) {
        const uint16_t *row = found.corner + line * scene->row;
        found.lines[line] = mixed(load_four(row), load_four(row + scene->plane), at->share[2]);
    }
    four here = mixed(found.lines[0], found.lines[1], at->share[1]);
    found.value = (int32_t)between(here[1], here[2], at->share[0]);
    return found;
}

NK_INLINE void light_at(
    const nk_ray_scene *scene, const location *at, const neighbourhood *found, float *factor, float *white)
{
    float along[3];
    find_gradient(scene, found->corner, at->share, found->lines, along);
    light(scene, along, factor, white);
}

NK_INLINE uint8_t visible_at(const nk_ray_scene *scene, const location *at, int32_t *block)
{
    for (int axis = 0; axis < 3; axis++) block[axis] = at->index[axis] >> block_shift;
    return scene->visible[block[0] + (ptrdiff_t)scene->blocks[0] * (block[1] + scene->blocks[1] * block[2])];
}

NK_INLINE int32_t sample_after(
    const nk_ray_scene *scene, const int32_t *block, const float *origin, int32_t sample, int32_t end)
{
    int32_t next = sample_behind(scene, block, origin, end);
    return next > sample ? next : sample + 1;
}

// The first sample inside a label; `end` if there is none.
NK_INLINE int32_t first_labelled(const nk_ray_scene *scene, const float *origin, int32_t sample, int32_t end)
{
    if (!scene->labelled) return end;
    while (sample < end) {
        location at = locate(scene, origin, (float)sample);
        int32_t block[3];
        if (!(visible_at(scene, &at, block) & visible_labels)) {
            sample = sample_after(scene, block, origin, sample, end);
            continue;
        }
        if (read_neighbourhood(scene, scene->labelled, &at).value >= labelled_value) return sample;
        sample++;
    }
    return end;
}

// The labelled one of the eight voxels around a place that is nearest to it.
NK_INLINE uint16_t label_at(const nk_ray_scene *scene, const location *at)
{
    uint16_t found = 0;
    float most = -1;
    for (int corner = 0; corner < 8; corner++) {
        ptrdiff_t place = 0;
        float weight = 1;
        for (int axis = 2; axis >= 0; axis--) {
            int32_t side = corner >> axis & 1, last = scene->size[axis] - 1;
            int32_t index = at->index[axis] + side;
            weight *= side ? at->share[axis] : 1 - at->share[axis];
            place = place * scene->size[axis] + (index < last ? index : last);
        }
        if (weight > most && scene->labels[place]) {
            most = weight;
            found = scene->labels[place];
        }
    }
    return found;
}

// exp(-depth), by operations whose results do not depend on the processor.
NK_INLINE float passed(float depth)
{
    float part = depth / 16;
    float share = 1 / (1 + part * (1 + part * (0.5f + part / 6)));
    for (int doubling = 0; doubling < 4; doubling++) share *= share;
    return share;
}

// Adds light to what is seen, from what hides a part of all that is behind it.
NK_INLINE void add_light(float *seen, const float *color, float factor, float white, float part)
{
    for (int channel = 0; channel < 3; channel++) seen[channel] += (color[channel] * factor + white) * part;
}

// Where a ray enters a label, or passes from one into another.
NK_INLINE float add_label(
    const nk_ray_scene *scene, const float *origin, int32_t sample, uint16_t label, float transparency, float *seen)
{
    // The surface lies between this sample and the one before.
    location at = locate(scene, origin, (float)sample), before = locate(scene, origin, (float)(sample - 1));
    float here = (float)read_neighbourhood(scene, scene->labelled, &at).value - labelled_value;
    float there = (float)read_neighbourhood(scene, scene->labelled, &before).value - labelled_value;
    if (there < 0 && here > there) at = locate(scene, origin, (float)sample - here / (here - there));
    neighbourhood found = read_neighbourhood(scene, scene->labelled, &at);
    float factor, white;
    light_at(scene, &at, &found, &factor, &white);
    add_light(seen, scene->colors + 4 * (ptrdiff_t)label, factor, white, label_opacity * transparency);
    return transparency * (1 - label_opacity);
}

NK_INLINE void nk_cast_ray_body(const nk_ray_scene *scene, const float *origin, float *seen)
{
    int32_t sample, end, before = -1;
    uint16_t label = 0;
    float transparency = 1;
    memset(seen, 0, 4 * sizeof *seen);
    samples_inside(scene, origin, &sample, &end);
    const int32_t labelled = first_labelled(scene, origin, sample, end);
    for (; sample < end && transparency >= least_transparency; sample++) {
        location at = locate(scene, origin, (float)sample);
        int32_t block[3];
        uint8_t visible = visible_at(scene, &at, block);
        if (!visible) {
            sample = sample_after(scene, block, origin, sample, end) - 1;
            before = -1;
            label = 0;
            continue;
        }
        if (sample >= labelled && visible & visible_labels
            && read_neighbourhood(scene, scene->labelled, &at).value >= labelled_value) {
            uint16_t found = label_at(scene, &at);
            if (found != label) transparency = add_label(scene, origin, sample, found, transparency, seen);
            label = found;
            before = -1;
            continue;
        }
        label = 0;
        neighbourhood found = read_neighbourhood(scene, scene->voxels, &at);
        const int32_t entry = found.value >> table_shift;
        const int32_t first = before < 0 || entry < before ? entry : before;
        const int32_t last = before > entry ? before : entry;
        before = entry;
        const double *lower = scene->sums + 4 * (ptrdiff_t)first, *upper = scene->sums + 4 * (ptrdiff_t)(last + 1);
        const double depth = upper[3] - lower[3];
        if (depth <= 0) continue;
        float part = (1 - passed((float)(depth / (last + 1 - first)))) * transparency;
        if (labelled < end && sample < labelled) part = fminf(part, fmaxf(transparency - (1 - most_hidden), 0));
        float factor = inside, white = 0;
        if (part > least_lit) light_at(scene, &at, &found, &factor, &white);
        const float color[3] = {
            (float)((upper[0] - lower[0]) / depth), (float)((upper[1] - lower[1]) / depth),
            (float)((upper[2] - lower[2]) / depth)};
        add_light(seen, color, factor, white, part);
        transparency -= part;
    }
    seen[3] = transparency < least_transparency ? 1 : 1 - transparency;
}

NK_VARIANTS(
    void, nk_cast_ray, (const nk_ray_scene *scene, const float *origin, float *seen), (scene, origin, seen))
