"""The reference for splitting maps into instances: SciPy's components and scikit-image's watershed.

Nocturne's own splitter does the same; the two may differ where equal pixels can be processed in several orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import ConvexHull
from skimage.segmentation import watershed


def elevation(maps: NDArray[np.float32], rules: dict[str, Any]) -> NDArray[np.uint8]:
    """The watershed's landscape, highest at boundaries and far from centres; 0...255.

    maps: (3, y, x) foreground, boundary, centre.
    """
    weight = np.float32(rules["boundaryWeight"])
    maps = np.clip(maps, 0, 1)
    height = ((1 - maps[2]) + weight * maps[1]) / (1 + weight)
    return np.floor(height * 255 + np.float32(0.5)).astype(np.uint8)


def seeds_of(maps: NDArray[np.float32], rules: dict[str, Any], height: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Seeds numbered from 1: large enough components of the centre map, and one pixel for every foreground without."""
    foreground = maps[0] >= np.float32(rules["foregroundThreshold"])
    found, count = ndimage.label(foreground & (maps[2] >= np.float32(rules["seedThreshold"])))
    sizes = np.bincount(found.ravel(), minlength=count + 1)
    keep = sizes >= rules["minimumSeedArea"]
    keep[0] = False
    table = np.zeros(count + 1, np.int32)
    table[keep] = np.arange(1, keep.sum() + 1)
    seeds = table[found]
    if rules["backgroundThreshold"] > 0:
        return seeds
    regions, count = ndimage.label(foreground)
    seeded = set(np.unique(regions[seeds > 0]))
    number = int(keep.sum())
    for region in range(1, count + 1):
        inside = regions == region
        if region in seeded or inside.sum() < rules["minimumArea"]:
            continue
        number += 1
        place = np.flatnonzero(inside.ravel())
        seeds.ravel()[place[np.argmin(height.ravel()[place])]] = number
    return seeds


def merged(labels: NDArray[np.int32], boundary: NDArray[np.float32], rules: dict[str, Any]) -> NDArray[np.int32]:
    """Joins neighbours with a low boundary map along their contact, the lowest first."""
    contacts: dict[tuple[int, int], list[float]] = {}
    for first, second in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        a, b = labels[first], labels[second]
        touching = (a != b) & (a > 0) & (b > 0)
        strength = np.maximum(boundary[first], boundary[second])[touching]
        for low, high, value in zip(np.minimum(a, b)[touching], np.maximum(a, b)[touching], strength):
            entry = contacts.setdefault((int(low), int(high)), [0, 0.0])
            entry[0] += 1
            entry[1] += float(value)
    target = np.arange(int(labels.max()) + 1)
    while True:
        weak = [(s / n, pair) for pair, (n, s) in contacts.items() if n >= rules["minimumContact"] and s / n < rules["mergeBoundary"]]
        if not weak:
            return target[labels]
        keep, joining = min(weak)[1]
        target[target == joining] = keep
        joined: dict[tuple[int, int], list[float]] = {}
        for (a, b), (n, s) in contacts.items():
            a, b = (keep if a == joining else a), (keep if b == joining else b)
            if a != b:
                entry = joined.setdefault((min(a, b), max(a, b)), [0, 0.0])
                entry[0] += n
                entry[1] += s
        contacts = joined


def split(maps: NDArray[np.float32], rules: dict[str, Any]) -> NDArray[np.int32]:
    """Labels from 1 in the order of their first pixel; 0 is background."""
    foreground = maps[0] >= np.float32(rules["foregroundThreshold"])
    height = elevation(maps, rules)
    seeds = seeds_of(maps, rules, height)
    limit = rules["backgroundThreshold"]
    if limit > 0:
        # Certain background is flooded too, up to the edges in the boundary map.
        outside = int(seeds.max()) + 1
        seeds[(seeds == 0) & (maps[0] < np.float32(limit))] = outside
        labels = watershed(height.astype(np.int32), seeds, connectivity=1)
        labels[labels == outside] = 0
    else:
        labels = watershed(height.astype(np.int32), seeds, connectivity=1, mask=foreground)
    labels = merged(labels, maps[1], rules)
    sizes = np.bincount(labels.ravel())
    sums = np.bincount(labels.ravel(), weights=np.clip(maps[0], 0, 1).ravel().astype(np.float64))
    values, firsts = np.unique(labels, return_index=True)
    table = np.zeros(int(labels.max()) + 1, np.int32)
    least = float(np.float32(rules["foregroundThreshold"]))
    kept = [v for _, v in sorted(zip(firsts, values)) if v > 0 and sizes[v] >= rules["minimumArea"] and sums[v] >= least * sizes[v]]
    table[kept] = np.arange(1, len(kept) + 1)
    labels = filled(table[labels])
    tidy, gone = without_slivers(labels, rules.get("minimumAreaShareOfMedian", 0))
    labels = filled(tidy) if gone else labels
    least = np.float32(rules.get("minimumClearShare", 0))
    return labels if least == 0 or np.float32(clear_share(labels, maps[1])) >= least else np.zeros_like(labels)


def clear_share(labels: NDArray[np.int32], boundary: NDArray[np.float32]) -> float:
    """The share of the area of all instances that is in those with clear outlines; 0 without instances.

    An outline is clear where the share of the smallest rectangle around an instance that it fills, times the mean of the boundary
    map along its outline, is at least 0.7: of every pair of pixels beside or above each other of which only one is in the instance,
    the higher value, and 0 at the picture's edge.
    """
    count = int(labels.max())
    sums, pairs = np.zeros(count + 1), np.zeros(count + 1)
    boundary = np.clip(boundary, 0, 1)
    for first, second in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        a, b = labels[first], labels[second]
        differ = a != b
        value = np.maximum(boundary[first], boundary[second])[differ].astype(np.float64)
        for side in (a[differ], b[differ]):
            sums += np.bincount(side, value, count + 1)
            pairs += np.bincount(side, minlength=count + 1)
    for edge in (labels[0], labels[-1], labels[:, 0], labels[:, -1]):
        pairs += np.bincount(edge, minlength=count + 1)
    clear, whole = 0, 0
    for label, box in enumerate(ndimage.find_objects(labels), 1):
        inside = labels[box] == label
        area = int(inside.sum())
        whole += area
        if area / rectangle_area(inside) * sums[label] / pairs[label] >= 0.7:
            clear += area
    return clear / whole if whole else 0.0


def rectangle_area(inside: NDArray[np.bool_]) -> float:
    """The area of the smallest rectangle at any angle around the squares of a mask's pixels."""
    y, x = np.nonzero(inside)
    corners = np.unique(np.concatenate([np.stack([y + dy, x + dx], 1) for dy in (0, 1) for dx in (0, 1)]), axis=0)
    hull = corners[ConvexHull(corners).vertices].astype(float)
    best = np.inf
    for side in np.roll(hull, -1, axis=0) - hull:
        along = side / np.hypot(*side)
        best = min(best, np.ptp(hull @ along) * np.ptp(hull @ np.array([-along[1], along[0]])))
    return float(best)


def without_slivers(labels: NDArray[np.int32], share: float) -> tuple[NDArray[np.int32], int]:
    """Merges instances below a share of the median area with the neighbour of the longest border, the smallest first;
    those without a neighbour become background. Returns the labels and the number of instances that are gone.
    """
    areas = np.bincount(labels.ravel(), minlength=2)
    areas[0] = 0
    limit = float(np.float32(share)) * (float(np.median(areas[areas > 0])) if areas.any() else 0.0)
    borders = np.zeros((len(areas), len(areas)), np.int64)
    for first, second in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        a, b = labels[first].ravel(), labels[second].ravel()
        touching = (a != b) & (a > 0) & (b > 0)
        np.add.at(borders, (a[touching], b[touching]), 1)
    borders += borders.T
    target = np.arange(len(areas))
    gone = 0
    while (small := np.flatnonzero((areas > 0) & (areas < limit))).size:
        sliver = small[np.argmin(areas[small])]
        neighbour = int(np.argmax(borders[sliver])) if borders[sliver].any() else 0
        target[target == sliver] = neighbour
        if neighbour:
            areas[neighbour] += areas[sliver]
            borders[neighbour] += borders[sliver]
            borders[:, neighbour] += borders[:, sliver]
            borders[neighbour, neighbour] = 0
        areas[sliver] = 0
        borders[sliver] = borders[:, sliver] = 0
        gone += 1
    if not gone:
        return labels, 0
    labels = target[labels].astype(np.int32)
    values, firsts = np.unique(labels, return_index=True)
    table = np.zeros(len(areas), np.int32)
    kept = [value for _, value in sorted(zip(firsts, values)) if value > 0]
    table[kept] = np.arange(1, len(kept) + 1)
    return table[labels], gone


def filled(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Fills holes that are enclosed by a single instance."""
    holes, count = ndimage.label(labels == 0)
    result = labels.copy()
    padded = np.pad(labels, 1, constant_values=-1)
    for index, box in enumerate(ndimage.find_objects(holes), 1):
        wide = tuple(slice(s.start, s.stop + 2) for s in box)
        hole = np.pad(holes[box] == index, 1)
        rim = np.unique(padded[wide][ndimage.binary_dilation(hole) & ~hole])
        if len(rim) == 1 and rim[0] > 0:
            result[box][holes[box] == index] = rim[0]
    return result
