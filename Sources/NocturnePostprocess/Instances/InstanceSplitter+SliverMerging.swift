package import NocturneSystem

extension InstanceSplitter {
    /// Removes slivers: instances whose area is below a share of the median area of all instances of the picture.
    ///
    /// The smallest sliver is first. It becomes part of the neighbour with which it has the longest border, counted in
    /// pairs of horizontal or vertical neighbours, or background if it touches no other instance. The neighbour's area and
    /// borders grow by those of the sliver, so a sliver that others became part of may be large enough to stay; the median
    /// is that of the instances at the start. Equal areas and borders are decided by the lower number.
    package enum SliverMerging {
        /// What became of the slivers of a picture.
        package struct Outcome: Equatable {
            /// Without gaps, in the order of their first pixel, or as given if there are no slivers; 0 is background.
            package var labels: [UInt16]
            /// The number of instances that are left.
            package var count: Int
            /// What became of the slivers.
            package var slivers = Labels.Slivers()
        }

        /// - Parameters:
        ///   - labels: rows of `width` pixels; 0 is background, instances count from 1.
        ///   - share: of the median area; 0 changes nothing.
        package static func merged(
            _ labels: [UInt16],
            count: Int,
            width: Int,
            below share: Float,
            flag: CancellationFlag
        ) throws(CancelledError) -> Outcome {
            let unchanged = Outcome(labels: labels, count: count)
            guard share > 0, count > 1 else { return unchanged }
            var graph = try PieceGraph(labels, count: count, width: width, flag: flag) { _, _ in 0 }
            // The first is that of background.
            var areas = [Int](repeating: 0, count: count + 1)
            for label in labels { areas[Int(label)] += 1 }
            let limit = Double(share) * median(areas.dropFirst())
            var outcome = unchanged
            while let sliver = smallest(areas, below: limit) {
                try flag.check()
                let neighbour = graph.closest(to: sliver)
                if neighbour == nil { outcome.slivers.dropped += 1 } else { outcome.slivers.merged += 1 }
                graph.join(sliver, to: neighbour ?? 0)
                areas[neighbour ?? 0] += areas[sliver]
                areas[sliver] = 0
            }
            guard outcome.slivers != Labels.Slivers() else { return unchanged }
            number(&outcome, graph.targets)
            return outcome
        }

        /// The mean of the two in the middle for an even number; 0 for none.
        package static func median(_ areas: some Collection<Int>) -> Double {
            let sorted = areas.sorted()
            guard !sorted.isEmpty else { return 0 }
            return Double(sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        }

        /// Removed instances have no area.
        private static func smallest(_ areas: [Int], below limit: Double) -> Int? {
            areas.indices.dropFirst().filter { areas[$0] > 0 && Double(areas[$0]) < limit }.min {
                (areas[$0], $0) < (areas[$1], $1)
            }
        }

        private static func number(_ outcome: inout Outcome, _ targets: [Int]) {
            var numbers = [UInt16](repeating: 0, count: targets.count)
            outcome.count = 0
            for place in outcome.labels.indices where outcome.labels[place] > 0 {
                let target = targets[Int(outcome.labels[place])]
                if target > 0, numbers[target] == 0 {
                    outcome.count += 1
                    numbers[target] = UInt16(outcome.count)
                }
                outcome.labels[place] = numbers[target]
            }
        }
    }
}
