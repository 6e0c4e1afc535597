public import NocturneSystem

/// Splits maps into instances: seeds from the centre map, a watershed between them, over-split fragments merged, small
/// components removed, holes filled, slivers merged with a neighbour or removed, and no instances at all in a picture whose
/// pieces do not have clear outlines.
///
/// Background never becomes an instance: the area flooded from background seeds belongs to none, and fragments whose
/// mean foreground is below the threshold are discarded. Only holes that are enclosed by one instance become part of
/// it. Runs on one thread, about 20 ns and 26 bytes per pixel, and checks the flag between steps of a few milliseconds.
public struct InstanceSplitter: Sendable {
    /// The thresholds of the package.
    public let rules: Rules

    /// Splits by these rules.
    public init(rules: Rules) { self.rules = rules }

    /// More seeds than this indicate noise, not instances: only the largest are used.
    private static let maximumSeedCount = 4096

    /// The peak memory in bytes in addition to the maps.
    public static func predictedBytes(width: Int, height: Int) -> Int { width * height * 26 + (1 << 20) }

    /// - Throws: `CancelledError`.
    public func split(_ maps: InstanceMaps, flag: CancellationFlag) throws(CancelledError) -> Labels {
        let isInside = maps.foreground.map { $0 >= rules.foregroundThreshold }
        let heights = heights(of: maps)
        var (labels, pieces) = try seeds(maps, isInside, heights, flag)
        guard pieces > 0 else { return .none(width: maps.width, height: maps.height) }
        try flood(&labels, outside: Int32(pieces + 1), maps, isInside, heights, flag)
        if rules.mergeBoundary > 0 {
            let targets = try mergedFragments(labels, pieces: pieces, maps, flag)
            for place in labels.indices { labels[place] = Int32(targets[Int(labels[place])]) }
        }
        let (numbered, count, dropped) = numbered(labels, pieces: pieces, maps.foreground)
        let filled = try filled(numbered, width: maps.width, height: maps.height, flag: flag)
        let tidy = try withoutSlivers(filled, count: count, maps, flag)
        if rules.minimumClearShare > 0, tidy.count > 0 {
            let share = try maps.clearShare(of: tidy.labels, count: tidy.count, flag: flag)
            let least = rules.minimumClearShare
            if share < least {
                let refusal = Labels.Refusal(count: tidy.count, clearShare: share, leastShare: least)
                return .none(width: maps.width, height: maps.height, refusal)
            }
        }
        var found = Labels(
            width: maps.width,
            height: maps.height,
            labels: tidy.labels,
            confidences: confidences(tidy.labels, count: tidy.count, maps.foreground)
        )
        found.dropped = dropped
        found.slivers = tidy.slivers
        return found
    }

    /// A sliver that became part of a neighbour, or background, may leave a hole.
    private func withoutSlivers(
        _ labels: [UInt16],
        count: Int,
        _ maps: InstanceMaps,
        _ flag: CancellationFlag
    ) throws(CancelledError) -> SliverMerging.Outcome {
        var outcome = try SliverMerging.merged(
            labels,
            count: count,
            width: maps.width,
            below: rules.minimumAreaShareOfMedian,
            flag: flag
        )
        if outcome.slivers != Labels.Slivers() {
            outcome.labels = try filled(outcome.labels, width: maps.width, height: maps.height, flag: flag)
        }
        return outcome
    }

    private func flood(
        _ labels: inout [Int32],
        outside: Int32,
        _ maps: InstanceMaps,
        _ isInside: [Bool],
        _ heights: [UInt8],
        _ flag: CancellationFlag
    ) throws(CancelledError) {
        let hasBackground = rules.backgroundThreshold > 0
        if hasBackground {
            for place in labels.indices where labels[place] == 0 && maps.foreground[place] < rules.backgroundThreshold {
                labels[place] = outside
            }
        }
        try Self.watershed(
            heights: heights,
            labels: &labels,
            isInside: hasBackground ? Array(repeating: true, count: labels.count) : isInside,
            width: maps.width,
            flag: flag
        )
        for place in labels.indices where labels[place] == outside { labels[place] = 0 }
    }

    // MARK: Flooding heights and seeds

    /// High at boundaries and far from centres.
    private func heights(of maps: InstanceMaps) -> [UInt8] {
        let weight = rules.boundaryWeight
        return maps.foreground.indices.map { place in
            let boundary = min(max(maps.boundary[place], 0), 1)
            guard let centre = maps.centre else { return UInt8(boundary * 255 + 0.5) }
            let depth = min(max(centre[place], 0), 1)
            return UInt8((((1 - depth) + weight * boundary) / (1 + weight)) * 255 + 0.5)
        }
    }

    /// Sufficiently large components that are certainly inside; and, if background does not flood, the lowest pixel of
    /// each foreground component without such a seed.
    private func seeds(
        _ maps: InstanceMaps,
        _ isInside: [Bool],
        _ heights: [UInt8],
        _ flag: CancellationFlag
    ) throws(CancelledError) -> (labels: [Int32], count: Int) {
        let (width, height) = (maps.width, maps.height)
        let found = try PlaneComponents(width: width, height: height, flag: flag) { place in
            let depth = maps.centre?[place] ?? (maps.foreground[place] - maps.boundary[place])
            return isInside[place] && depth >= rules.seedThreshold
        }
        var large = (1..<max(found.count + 1, 1)).filter { found.areas[$0] >= rules.minimumSeedArea }
        if large.count > Self.maximumSeedCount {
            large.sort { (found.areas[$1], $0) < (found.areas[$0], $1) }
            large = large.prefix(Self.maximumSeedCount).sorted()
        }
        var numbers = [Int32](repeating: 0, count: found.count + 1)
        for (index, component) in large.enumerated() { numbers[component] = Int32(index + 1) }
        var labels = found.labels.map { numbers[Int($0)] }

        // Where background floods too, a region without a seed belongs to it. Otherwise it is an instance whose centre is weak,
        // and gets one seed.
        guard rules.backgroundThreshold <= 0 else { return (labels, large.count) }
        let regions = try PlaneComponents(width: width, height: height, flag: flag) { isInside[$0] }
        var lowest = [Int32](repeating: -1, count: regions.count + 1)
        var isSeeded = [Bool](repeating: false, count: regions.count + 1)
        for place in labels.indices {
            let region = Int(regions.labels[place])
            if labels[place] > 0 { isSeeded[region] = true }
            if lowest[region] < 0 || heights[place] < heights[Int(lowest[region])] { lowest[region] = Int32(place) }
        }
        var count = large.count
        for region in 1..<max(regions.count + 1, 1)
        where !isSeeded[region] && regions.areas[region] >= rules.minimumArea && count < Self.maximumSeedCount {
            count += 1
            labels[Int(lowest[region])] = Int32(count)
        }
        return (labels, count)
    }

    // MARK: Numbers and holes

    /// Fragments that are large enough and mostly foreground, in the order of their first pixel; if there are more than
    /// requested, the largest.
    private func numbered(
        _ labels: [Int32],
        pieces: Int,
        _ foreground: [Float]
    ) -> (labels: [UInt16], count: Int, dropped: Int) {
        var areas = [Int](repeating: 0, count: pieces + 1)
        var sums = [Double](repeating: 0, count: pieces + 1)
        var order: [Int] = []
        for (place, label) in labels.enumerated() where label > 0 {
            if areas[Int(label)] == 0 { order.append(Int(label)) }
            areas[Int(label)] += 1
            sums[Int(label)] += Double(min(max(foreground[place], 0), 1))
        }
        let least = Double(rules.foregroundThreshold)
        var kept = order.filter { areas[$0] >= rules.minimumArea && sums[$0] >= least * Double(areas[$0]) }
        let dropped = max(kept.count - rules.maximumInstances, 0)
        if dropped > 0 {
            let ranked = kept.enumerated().sorted { (areas[$1.element], $0.offset) < (areas[$0.element], $1.offset) }
            let chosen = Set(ranked.prefix(rules.maximumInstances).map(\.element))
            kept.removeAll { !chosen.contains($0) }
        }
        var numbers = [UInt16](repeating: 0, count: pieces + 1)
        for (index, label) in kept.enumerated() { numbers[label] = UInt16(index + 1) }
        return (labels.map { numbers[Int($0)] }, kept.count, dropped)
    }

    /// Holes that are enclosed by only one instance become part of it.
    private func filled(
        _ labels: [UInt16],
        width: Int,
        height: Int,
        flag: CancellationFlag
    ) throws(CancelledError) -> [UInt16] {
        let holes = try PlaneComponents(width: width, height: height, flag: flag) { labels[$0] == 0 }
        /// The instance around a hole; -1 not yet known, 0 several instances or the picture's edge.
        var owners = [Int32](repeating: -1, count: holes.count + 1)
        for place in labels.indices where labels[place] == 0 {
            let hole = Int(holes.labels[place])
            let (x, y) = (place % width, place / width)
            if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                owners[hole] = 0
                continue
            }
            for neighbour in [place - width, place - 1, place + 1, place + width] where labels[neighbour] > 0 {
                let label = Int32(labels[neighbour])
                if owners[hole] == -1 { owners[hole] = label } else if owners[hole] != label { owners[hole] = 0 }
            }
        }
        var filled = labels
        for place in filled.indices where filled[place] == 0 {
            filled[place] = UInt16(max(owners[Int(holes.labels[place])], 0))
        }
        return filled
    }

    private func confidences(_ labels: [UInt16], count: Int, _ foreground: [Float]) -> [Float] {
        var sums = [Double](repeating: 0, count: count + 1)
        var areas = [Int](repeating: 0, count: count + 1)
        for (place, label) in labels.enumerated() where label > 0 {
            sums[Int(label)] += Double(min(max(foreground[place], 0), 1))
            areas[Int(label)] += 1
        }
        return (1..<max(count + 1, 1)).map { Float(sums[$0] / Double(areas[$0])) }
    }
}
