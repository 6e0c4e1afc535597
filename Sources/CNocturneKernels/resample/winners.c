// Labels on another grid: at every voxel the label with the largest interpolated indicator, with the decisions of
// batchgenerators' `resize_segmentation` and nnU-Net's torch resampler.
#include "nk_resample.h"
#include "../variants.h"

#pragma STDC FP_CONTRACT OFF

/// Labels around one voxel, in the order z, y, x, with the weight of each along the three axes.
typedef struct {
    int32_t label[8];
    double z[8], y[8], x[8];
    int count;
} neighbours;

NK_INLINE double score(const neighbours *around, int32_t label)
{
    double sum = 0;
    for (int t = 0; t < around->count; t++)
        if (around->label[t] == label) sum += (around->z[t] * around->y[t]) * around->x[t];
    // The indicator is clamped to its range, 0 to 1.
    return sum > 1 ? 1 : sum;
}

/// The label with the largest score; on a tie that of the nearest voxel, else the smallest label.
NK_INLINE int32_t best_label(const neighbours *around, int32_t nearest)
{
    int32_t best = around->label[0];
    double best_score = score(around, best);
    for (int t = 1; t < around->count; t++) {
        int32_t label = around->label[t];
        if (label == best) continue;
        double found = score(around, label);
        if (found > best_score || (found == best_score && label < best)) {
            best = label;
            best_score = found;
        }
    }
    return score(around, nearest) == best_score ? nearest : best;
}

/// Scores scaled by 1000 in float32, rounded to float16; on a tie the smallest label.
NK_INLINE int32_t best_single_label(const neighbours *around)
{
    int32_t best = 0;
    float best_score = -1;
    for (int t = 0; t < around->count; t++) {
        int32_t label = around->label[t];
        float sum = 0;
        for (int o = 0; o < around->count; o++)
            if (around->label[o] == label)
                sum += 1000.0f * (float)around->x[o] * (float)around->y[o] * (float)around->z[o];
        sum = (float)(_Float16)sum;
        if (sum > best_score || (sum == best_score && label < best)) {
            best = label;
            best_score = sum;
        }
    }
    return best;
}

/// Decides voxel i from the taps of all axes, or of one slice of the separate axis.
NK_INLINE int32_t decide(const nk_label_rows *rows, ptrdiff_t count, ptrdiff_t i, int axis, int slice)
{
    neighbours around;
    around.count = 0;
    int32_t nearest = 0;
    for (int z = 0; z < rows->z_taps; z++) {
        if (axis == 2 && z != slice) continue;
        for (int y = 0; y < rows->y_taps; y++) {
            if (axis == 1 && y != slice) continue;
            const int32_t *row = rows->rows[z * rows->y_taps + y];
            for (int x = 0; x < rows->x_taps; x++) {
                if (axis == 0 && x != slice) continue;
                int32_t label = row[rows->x[x * count + i]];
                int t = around.count++;
                around.label[t] = label;
                around.z[t] = axis == 2 ? 1 : rows->wz[z];
                around.y[t] = axis == 1 ? 1 : rows->wy[y];
                around.x[t] = axis == 0 ? 1 : rows->wx[x * count + i];
                int is_near_z = axis == 2 || z == rows->near_z, is_near_y = axis == 1 || y == rows->near_y;
                if (is_near_z && is_near_y && (axis == 0 || x == rows->near_x[i])) nearest = label;
            }
        }
    }
    return rows->single ? best_single_label(&around) : best_label(&around, nearest);
}

/// Evaluates the slices first, then takes the label with more than half of the weight between two slices; 0 at exactly
/// half.
NK_INLINE int32_t decide_across(const nk_label_rows *rows, ptrdiff_t count, ptrdiff_t i, int axis)
{
    int32_t first = decide(rows, count, i, axis, 0), second = decide(rows, count, i, axis, 1);
    if (first == second) return first;
    double w0 = axis == 0 ? rows->wx[i] : axis == 1 ? rows->wy[0] : rows->wz[0];
    double w1 = axis == 0 ? rows->wx[count + i] : axis == 1 ? rows->wy[1] : rows->wz[1];
    return w0 > 0.5 ? first : w1 > 0.5 ? second : 0;
}

NK_INLINE void nk_label_by_score_body(int32_t *labels, ptrdiff_t count, const nk_label_rows *rows)
{
    const int row_count = rows->z_taps * rows->y_taps;
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t left = rows->x[i], right = rows->x[(rows->x_taps - 1) * count + i];
        int32_t label = rows->rows[0][left];
        int32_t different = label ^ rows->rows[0][right];
        for (int r = 1; r < row_count; r++) different |= (label ^ rows->rows[r][left]) | (label ^ rows->rows[r][right]);
        if (different)
            label = rows->last_axis < 0 ? decide(rows, count, i, -1, 0)
                                        : decide_across(rows, count, i, rows->last_axis);
        labels[i] = label;
    }
}

NK_VARIANTS_HALF(
    void, nk_label_by_score, (int32_t *labels, ptrdiff_t count, const nk_label_rows *rows), (labels, count, rows))

NK_INLINE void nk_read_labels_body(
    int32_t *restrict out, const uint16_t *restrict labels, ptrdiff_t step, const uint8_t *restrict inside,
    ptrdiff_t count)
{
    if (step == 1)
        for (ptrdiff_t i = 0; i < count; i++) out[i] = labels[i];
    else
        for (ptrdiff_t i = 0; i < count; i++) out[i] = labels[i * step];
    if (inside)
        for (ptrdiff_t i = 0; i < count; i++) out[i] = out[i] == 0 && inside[i] == 0 ? -1 : out[i];
}

NK_VARIANTS(
    void, nk_read_labels,
    (int32_t *out, const uint16_t *labels, ptrdiff_t step, const uint8_t *inside, ptrdiff_t count),
    (out, labels, step, inside, count))

NK_INLINE void nk_indicate_body(float *restrict out, const int32_t *restrict labels, ptrdiff_t count, int32_t value)
{
    for (ptrdiff_t i = 0; i < count; i++) out[i] = labels[i] == value ? 1.0f : 0.0f;
}

NK_VARIANTS(
    void, nk_indicate, (float *out, const int32_t *labels, ptrdiff_t count, int32_t value),
    (out, labels, count, value))
