package import NocturneSystem

extension InstanceSplitter {
    /// Removes slivers: instances whose area is below a share of the median area of all instances of the picture.
    ///
    /// The smallest sliver is first. It becomes part of the neighbour with which it has the longest border, counted in
    /// pairs of horizontal or vertical neighbours, or background if it touches no other instance. The neighbour's area and
    /// borders grow by those of the sliver, so a sliver that others became part of may be large enough to stay; the median
    /// is that of the instances at the start. Equal areas and borders are decided by the lower number.
    package struct SliverMerging {
        /// What became of the slivers of a picture.
        package struct Outcome: Equatable {
            /// Without gaps, in the order of their first pixel, or as given if there are no slivers; 0 is background.
            package var labels: [UInt16]
            /// The number of instances that are left.
            package var count: Int
            /// What became of the slivers.
            package var slivers = Labels.Slivers()
        }

        private var areas: [Int]
        /// For each instance, its neighbours with the length of the border.
        private var borders: [[Int: Int]]
        /// The instance that each became part of; 0 for none.
        private var targets: [Int]

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
            var merging = try SliverMerging(labels, count: count, width: width, flag: flag)
            let limit = Double(share) * median(merging.areas.dropFirst())
            var outcome = unchanged
            while let sliver = merging.smallest(below: limit) {
                try flag.check()
                if merging.remove(sliver) { outcome.slivers.merged += 1 } else { outcome.slivers.dropped += 1 }
            }
            guard outcome.slivers != Labels.Slivers() else { return unchanged }
            merging.number(&outcome)
            return outcome
        }

        /// The mean of the two in the middle for an even number; 0 for none.
        package static func median(_ areas: some Collection<Int>) -> Double {
            let sorted = areas.sorted()
            guard !sorted.isEmpty else { return 0 }
            return Double(sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        }

        private init(
            _ labels: [UInt16],
            count: Int,
            width: Int,
            flag: CancellationFlag
        ) throws(CancelledError) {
            areas = Array(repeating: 0, count: count + 1)
            borders = Array(repeating: [:], count: count + 1)
            targets = Array(0...count)
            for place in labels.indices {
                if place % (1 << 16) == 0 { try flag.check() }
                let label = Int(labels[place])
                guard label > 0 else { continue }
                areas[label] += 1
                if (place + 1) % width != 0 { touch(label, Int(labels[place + 1])) }
                if place + width < labels.count { touch(label, Int(labels[place + width])) }
            }
        }

        private mutating func touch(_ a: Int, _ b: Int, _ pairs: Int = 1) {
            guard a != b, a > 0, b > 0 else { return }
            borders[a][b, default: 0] += pairs
            borders[b][a, default: 0] += pairs
        }

        /// Removed instances have no area.
        private func smallest(below limit: Double) -> Int? {
            areas.indices.filter { areas[$0] > 0 && Double(areas[$0]) < limit }.min {
                (areas[$0], $0) < (areas[$1], $1)
            }
        }

        /// Whether the sliver became part of a neighbour.
        private mutating func remove(_ sliver: Int) -> Bool {
            let neighbours = borders[sliver]
            let target = neighbours.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? 0
            for index in targets.indices where targets[index] == sliver { targets[index] = target }
            for (neighbour, pairs) in neighbours {
                borders[neighbour][sliver] = nil
                if target > 0 { touch(target, neighbour, pairs) }
            }
            if target > 0 { areas[target] += areas[sliver] }
            areas[sliver] = 0
            borders[sliver] = [:]
            return target > 0
        }

        private func number(_ outcome: inout Outcome) {
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
