internal import NocturneCore
import NocturneSystem

/// Slices of one series that belong together, and how they were selected.
struct SlicePart {
    var slices: [DICOMSlice]
    /// The labels that distinguish it from the other parts, for names: "e2", "phase". Empty while it is the whole
    /// series.
    var labels: [String] = []
    /// Descriptions of the criteria that were used to split.
    var reasons: [String] = []
}

/// Splits what scanners store under one SeriesInstanceUID: echoes, contrast phases, magnitude and phase …
///
/// First by the criteria that never belong to one volume (``SeriesSplitCriterion/always``). Then, only where slices
/// repeat positions or do not form an even stack, by the criteria that separate repetitions
/// (``SeriesSplitCriterion/whenRepeated``), and finally by the order in which the slices were numbered or acquired, if
/// that order passes through the same positions repeatedly. If no criterion fits, the part is not split, and its stack
/// states why it is not a volume.
///
/// Parts are sorted by the values they were split by; nothing depends on the order of `slices`. The time is
/// proportional to n log n for each criterion tried.
enum SliceSplitting {
    static func parts(_ slices: [DICOMSlice]) -> [SlicePart] {
        var parts = [SlicePart(slices: slices)]
        for trait in SeriesSplitCriterion.always {
            parts = parts.flatMap { part in
                let split = split(part, by: trait)
                return isFair(split) ? split : [part]
            }
        }
        return parts.flatMap { untangled($0, SeriesSplitCriterion.whenRepeated, depth: 0) }
    }

    /// One part for each value of the criterion, or the unchanged part.
    private static func split(_ part: SlicePart, by trait: SeriesSplitCriterion) -> [SlicePart] {
        let groups = trait.groups(part.slices)
        guard groups.count > 1 else { return [part] }
        let all = groups.map(\.value.text)
        let shown = all.prefix(8).joined(separator: ", ") + (all.count > 8 ? " …" : "")
        return groups.map { value, slices in
            var own = part
            own.slices = slices
            own.labels.append(value.label)
            own.reasons.append("\(trait.name) is \(value.text), one of \(shown)")
            return own
        }
    }

    /// Whether a split leaves no small remainders that would hide an error: every part could be a stack, or nearly all
    /// slices are in one part and the remaining slices are clearly separate from it.
    private static func isFair(_ parts: [SlicePart]) -> Bool {
        if parts.allSatisfy({ $0.slices.count > 1 }) { return true }
        let all = parts.reduce(0) { $0 + $1.slices.count }
        let largest = parts.map(\.slices.count).max() ?? 0
        return largest >= 10 && largest * 10 >= all * 9
    }

    // MARK: Repeated positions

    private static func untangled(_ part: SlicePart, _ traits: [SeriesSplitCriterion], depth: Int) -> [SlicePart] {
        let places = SlicePlaces(part.slices)
        guard places.isRepeated else {
            if SliceStack.isEven(part.slices) { return [part] }
            // Two acquisitions of neighbouring regions: each is an even stack, but together they are not.
            for trait in traits where !trait.needsCompleteParts {
                let split = split(part, by: trait)
                if split.count > 1, split.allSatisfy({ $0.slices.count > 1 && SliceStack.isEven($0.slices) }) {
                    return split
                }
            }
            return [part]
        }
        for (index, trait) in traits.enumerated() where depth < 4 {
            let split = split(part, by: trait)
            guard split.count > 1, split.allSatisfy({ $0.slices.count > 1 }) else { continue }
            let inner = split.map { SlicePlaces($0.slices) }
            if trait.needsCompleteParts {
                guard inner.allSatisfy({ !$0.isRepeated && $0.count == places.count }) else { continue }
            } else {
                guard inner.allSatisfy({ $0.mostAtOnePlace < places.mostAtOnePlace }) else { continue }
            }
            let rest = Array(traits[(index + 1)...])
            return split.flatMap { untangled($0, rest, depth: depth + 1) }
        }
        return runs(part, places) ?? [part]
    }

    /// Splits by numbers or times: the first slice of every position, the second, and so on. Only where the order
    /// passes through all positions repeatedly, or finishes each position before the next one.
    private static func runs(_ part: SlicePart, _ places: SlicePlaces) -> [SlicePart]? {
        for order in SliceOrder.all {
            let keys = part.slices.map(order.key)
            guard let runs = places.runs(keys) else { continue }
            return runs.enumerated().map { index, members in
                var own = part
                own.slices = members.map { part.slices[$0] }
                own.labels.append("p\(index + 1)")
                own.reasons.append(
                    "\(places.count) positions occur \(runs.count) times; by \(order.name) this is pass \(index + 1)"
                )
                return own
            }
        }
        return nil
    }
}

/// The distinct positions of slices along their common normal.
struct SlicePlaces {
    /// For each slice the index of its position, from 0 upwards along the normal.
    let placeOfSlice: [Int]
    let count: Int
    let mostAtOnePlace: Int
    var isRepeated: Bool { mostAtOnePlace > 1 }

    init(_ slices: [DICOMSlice]) {
        let row = slices.first?.rowDirection ?? .zero
        let column = slices.first?.columnDirection ?? .zero
        let normal = cross(row, column)
        let heights = slices.map { dot($0.position ?? .zero, normal) }
        let order = heights.indices.sorted { heights[$0] < heights[$1] }
        let steps = zip(order, order.dropFirst()).map { heights[$1] - heights[$0] }.filter { $0 > 0.01 }.sorted()
        let usual = steps.isEmpty ? 0 : steps[(steps.count - 1) / 2]
        // The tolerance with which SliceStack treats positions as equal; noise of repeated passes may be larger, but is
        // always far below one step.
        let limit = max(0.01, 0.05 * usual)
        var places = [Int](repeating: 0, count: slices.count)
        var (place, here, most) = (-1, 0, 0)
        var last = -Double.infinity
        for index in order {
            if place < 0 || heights[index] - last > limit {
                place += 1
                here = 0
            }
            here += 1
            most = max(most, here)
            last = heights[index]
            places[index] = place
        }
        placeOfSlice = places
        count = place + 1
        mostAtOnePlace = most
    }

    /// The slices of each pass through the positions, by number; nil where `keys` do not form passes. Only the last
    /// pass may omit positions.
    func runs(_ keys: [Double?]) -> [[Int]]? {
        var atPlace = [[(key: Double, slice: Int)]](repeating: [], count: count)
        for (slice, key) in keys.enumerated() {
            guard let key else { return nil }
            atPlace[placeOfSlice[slice]].append((key, slice))
        }
        var runs = [[(key: Double, slice: Int)]](repeating: [], count: mostAtOnePlace)
        for place in atPlace.indices {
            atPlace[place].sort { $0.key < $1.key }
            for (index, entry) in atPlace[place].enumerated() {
                // Slices at one position that the order does not distinguish.
                if index > 0, entry.key == atPlace[place][index - 1].key { return nil }
                runs[index].append(entry)
            }
        }
        guard runs.dropLast().allSatisfy({ $0.count == count }), runs.allSatisfy({ $0.count > 1 }) else { return nil }
        let isPassAfterPass = Self.followEachOther(runs)
        let staysAtEachPlace = runs.allSatisfy { $0.count == count } && Self.followEachOther(atPlace)
        guard isPassAfterPass || staysAtEachPlace else { return nil }
        return runs.map { $0.map(\.slice) }
    }

    /// Whether the ranges of keys do not overlap, whatever their order.
    private static func followEachOther(_ groups: [[(key: Double, slice: Int)]]) -> Bool {
        let ranges = groups.map { group in
            (low: group.map(\.key).min() ?? 0, high: group.map(\.key).max() ?? 0)
        }.sorted { $0.low < $1.low }
        return zip(ranges, ranges.dropFirst()).allSatisfy { $0.high < $1.low }
    }
}

/// An order in which slices were acquired or numbered.
struct SliceOrder: Sendable {
    let name: String
    let key: @Sendable (DICOMSlice) -> Double?

    static let all = [
        SliceOrder(name: "InstanceNumber (0020,0013)") { slice in
            // Frames are consecutive within a file.
            slice.instanceNumber.map { Double($0) + Double(slice.frame) / 16_777_216 }
        },
        SliceOrder(name: "AcquisitionTime (0008,0032)") { $0.acquisitionTime },
        SliceOrder(name: "ContentTime (0008,0033)") { $0.contentTime },
    ]
}
