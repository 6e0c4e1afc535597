internal import NocturneCore
import NocturneSystem

/// Splits what scanners store under one SeriesInstanceUID: echoes, contrast phases, magnitude and phase …
///
/// First by the criteria that never belong to one volume (``SeriesSplitCriterion/forAllSeries``). Then, only where
/// slices repeat positions or do not form an even stack, by the criteria that separate repetitions
/// (``SeriesSplitCriterion/forRepeatedPositions``), and finally by the order in which the slices were numbered or
/// acquired, if that order passes through the same positions repeatedly. Of these, the first one counts that gives every
/// part all positions; only if there is none, the first one that divides repetitions at all. Slabs of different thickness
/// are separated where that makes each of them a stack. If no criterion fits, the part is not split, and its stack states
/// why it is not a volume.
///
/// Parts are sorted by the values they were split by; nothing depends on the order of `slices`. The time is
/// proportional to n log n for each criterion tried.
enum SliceSplitting {
    /// Slices of one series that belong together, and how they were selected.
    struct Part {
        var slices: [DICOMSlice]
        /// The labels that distinguish it from the other parts, for names: "e2", "phase". Empty while it is the whole
        /// series.
        var labels: [String] = []
        /// Descriptions of the criteria that were used to split.
        var reasons: [String] = []
    }

    /// - Parameter corrects: whether uneven stacks are resampled.
    static func parts(_ slices: [DICOMSlice], corrects: Bool = false) -> [Part] {
        var parts = [Part(slices: slices)]
        for trait in SeriesSplitCriterion.forAllSeries {
            parts = parts.flatMap { part in
                let split = split(part, by: trait)
                // Resampling closes the gap that a slice leaves.
                return leavesNoRemainders(split) && (corrects || !leavesGap(split, of: part)) ? split : [part]
            }
        }
        return parts.flatMap { splitRepetitions($0, SeriesSplitCriterion.forRepeatedPositions, depth: 0) }
            .flatMap { splitSlabs($0, corrects: corrects) }
    }

    /// One part for each value of the criterion, or the unchanged part.
    private static func split(_ part: Part, by trait: SeriesSplitCriterion) -> [Part] {
        let groups = trait.groups(part.slices)
        guard groups.count > 1 else { return [part] }
        let all = groups.map(\.value.text)
        let shown = listed(all, most: 8)
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
    private static func leavesNoRemainders(_ parts: [Part]) -> Bool {
        if parts.allSatisfy({ $0.slices.count > 1 }) { return true }
        let all = parts.reduce(0) { $0 + $1.slices.count }
        let largest = parts.map(\.slices.count).max() ?? 0
        return largest >= 10 && largest * 10 >= all * 9
    }

    /// Whether single slices of another size or pixel spacing lie where the others have a gap. Undivided, the stack has an error that names
    /// such a slice; divided, its slices would seem to be missing.
    private static func leavesGap(_ parts: [Part], of whole: Part) -> Bool {
        guard parts.contains(where: { $0.slices.count == 1 }),
            let largest = parts.max(by: { $0.slices.count < $1.slices.count }),
            fault(of: largest.slices) == .missingSlices, let code = fault(of: whole.slices)
        else { return false }
        return [.matricesDiffer, .pixelSpacingsDiffer].contains(code)
    }

    private static func fault(of slices: [DICOMSlice]) -> DICOMReadError.Code? {
        do {
            _ = try SliceStack(of: slices)
            return nil
        } catch {
            return error.error.code
        }
    }

    // MARK: Slabs

    /// Neighbouring slabs of different thickness, such as those of a head CT: each is a stack, together they are none.
    ///
    /// They stay together where they are resampled to one volume.
    private static func splitSlabs(_ part: Part, corrects: Bool) -> [Part] {
        let whole = SliceStack.suitability(of: part.slices)
        guard whole != .even, !(corrects && whole == .correctable) else { return [part] }
        let slabs = split(part, by: SeriesSplitCriterion.thickness)
        guard slabs.count > 1, slabs.allSatisfy({ $0.slices.count > 1 }) else { return [part] }
        let suitabilities = slabs.map { SliceStack.suitability(of: $0.slices) }
        let areBetter =
            suitabilities.allSatisfy { $0 == .even } || whole == .unsuitable && !suitabilities.contains(.unsuitable)
        return areBetter ? slabs : [part]
    }

    // MARK: Repeated positions

    private static func splitRepetitions(_ part: Part, _ traits: [SeriesSplitCriterion], depth: Int) -> [Part] {
        let positions = Positions(part.slices)
        guard positions.isRepeated else {
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
        // First what makes whole volumes: numbers of packages and rounded values divide each of them.
        for isWhole in [true, false] {
            for (index, trait) in traits.enumerated() where depth < 4 {
                guard let split = repetitions(of: part, positions, by: trait, areWhole: isWhole) else { continue }
                var rest = traits
                rest.remove(at: index)
                return split.flatMap { splitRepetitions($0, rest, depth: depth + 1) }
            }
            if let passes = splitByPasses(part, positions, wholeBy: isWhole ? traits : nil) { return passes }
        }
        return [part]
    }

    /// The parts of a criterion if they repeat positions less often than all slices do; nil otherwise.
    /// - Parameter areWhole: whether every part must have all positions.
    private static func repetitions(
        of part: Part,
        _ positions: Positions,
        by trait: SeriesSplitCriterion,
        areWhole: Bool
    ) -> [Part]? {
        let split = split(part, by: trait)
        guard split.count > 1, split.allSatisfy({ $0.slices.count > 1 }) else { return nil }
        let inner = split.map { Positions($0.slices) }
        if areWhole || trait.needsCompleteParts {
            guard inner.allSatisfy({ $0.count == positions.count }) else { return nil }
        }
        let most = trait.needsCompleteParts ? 1 : positions.maximumPerPosition - 1
        return inner.allSatisfy { $0.maximumPerPosition <= most } ? split : nil
    }

    /// Splits by numbers or times: the first slice of every position, the second, and so on. Only where the order
    /// passes through all positions repeatedly, or finishes each position before the next one.
    /// - Parameter traits: those by which every pass must be one volume, with all positions; nil where it need not be.
    private static func splitByPasses(
        _ part: Part,
        _ positions: Positions,
        wholeBy traits: [SeriesSplitCriterion]?
    ) -> [Part]? {
        let orders: [(name: String, isTime: Bool, key: (DICOMSlice) -> Double?)] = [
            // Frames are consecutive within a file.
            (
                "InstanceNumber (0020,0013)", false,
                { slice in slice.plane.instanceNumber.map { Double($0) + Double(slice.frame) / 16_777_216 } }
            ),
            ("AcquisitionTime (0008,0032)", true, { $0.plane.acquisitionTime }),
            ("ContentTime (0008,0033)", true, { $0.plane.contentTime }),
        ]
        for order in orders {
            let keys = part.slices.compactMap(order.key)
            guard keys.count == part.slices.count,
                let passes = positions.passes(order.isTime ? secondsAcrossMidnight(keys) : keys),
                traits.map({ areVolumes(passes, of: part, positions, by: $0) }) ?? true
            else { continue }
            return passes.enumerated().map { index, members in
                var own = part
                own.slices = members.map { part.slices[$0] }
                own.labels.append("p\(index + 1)")
                own.reasons.append(
                    "\(positions.count) positions occur \(passes.count) times; "
                        + "by \(order.name) this is pass \(index + 1)"
                )
                return own
            }
        }
        return nil
    }

    /// Whether every pass has all positions and slices of one volume: the same value of each criterion, or values that divide the
    /// positions of every pass alike.
    private static func areVolumes(
        _ passes: [[Int]],
        of part: Part,
        _ positions: Positions,
        by traits: [SeriesSplitCriterion]
    ) -> Bool {
        guard passes.allSatisfy({ $0.count == positions.count }) else { return false }
        let names = part.slices.map { DICOMSlice.Name($0) }
        let places = Dictionary(zip(names, positions.positionOfSlice)) { first, _ in first }
        return traits.allSatisfy { trait in
            if trait.needsCompleteParts { return true }
            let divisions = passes.map { pass in
                let groups = trait.groups(pass.map { part.slices[$0] })
                return Set(groups.map { group in Set(group.slices.compactMap { places[DICOMSlice.Name($0)] }) })
            }
            return trait.mayDivideVolumes ? Set(divisions).count == 1 : divisions.allSatisfy { $0.count == 1 }
        }
    }

    /// The distinct positions of slices along their common normal.
    struct Positions {
        /// For each slice the index of its position, from 0 upwards along the normal.
        let positionOfSlice: [Int]
        let count: Int
        let maximumPerPosition: Int
        var isRepeated: Bool { maximumPerPosition > 1 }

        init(_ slices: [DICOMSlice]) {
            let row = slices.first?.plane.rowDirection ?? .zero
            let column = slices.first?.plane.columnDirection ?? .zero
            let normal = cross(row, column)
            let heights = slices.map { dot($0.plane.position ?? .zero, normal) }
            let order = heights.indices.sorted { heights[$0] < heights[$1] }
            let steps = zip(order, order.dropFirst()).map { heights[$1] - heights[$0] }.filter { $0 > 0.01 }.sorted()
            let usual = steps.isEmpty ? 0 : steps[(steps.count - 1) / 2]
            // The tolerance with which SliceStack treats positions as equal; noise of repeated passes may be larger, but is
            // always far below one step.
            let limit = max(0.01, 0.05 * usual)
            var positions = [Int](repeating: 0, count: slices.count)
            var (position, here, most) = (-1, 0, 0)
            var last = -Double.infinity
            for index in order {
                if position < 0 || heights[index] - last > limit {
                    position += 1
                    here = 0
                }
                here += 1
                most = max(most, here)
                last = heights[index]
                positions[index] = position
            }
            positionOfSlice = positions
            count = position + 1
            maximumPerPosition = most
        }

        /// The slices of each pass through the positions, by number; nil where `keys` do not form passes. Only the last
        /// pass may omit positions.
        func passes(_ keys: [Double]) -> [[Int]]? {
            var slicesAtPosition = [[(key: Double, slice: Int)]](repeating: [], count: count)
            for (slice, key) in keys.enumerated() {
                slicesAtPosition[positionOfSlice[slice]].append((key, slice))
            }
            var passes = [[(key: Double, slice: Int)]](repeating: [], count: maximumPerPosition)
            for position in slicesAtPosition.indices {
                slicesAtPosition[position].sort { $0.key < $1.key }
                for (index, entry) in slicesAtPosition[position].enumerated() {
                    // Slices at one position that the order does not distinguish.
                    if index > 0, entry.key == slicesAtPosition[position][index - 1].key { return nil }
                    passes[index].append(entry)
                }
            }
            guard passes.dropLast().allSatisfy({ $0.count == count }), passes.allSatisfy({ $0.count > 1 }) else {
                return nil
            }
            let isPassAfterPass = Self.followEachOther(passes)
            let staysAtEachPosition = passes.allSatisfy { $0.count == count } && Self.followEachOther(slicesAtPosition)
            guard isPassAfterPass || staysAtEachPosition else { return nil }
            return passes.map { $0.map(\.slice) }
        }

        /// Whether the ranges of keys do not overlap, whatever their order.
        private static func followEachOther(_ groups: [[(key: Double, slice: Int)]]) -> Bool {
            let ranges = groups.map { group in
                (low: group.map(\.key).min() ?? 0, high: group.map(\.key).max() ?? 0)
            }.sorted { $0.low < $1.low }
            return zip(ranges, ranges.dropFirst()).allSatisfy { $0.high < $1.low }
        }
    }
}
