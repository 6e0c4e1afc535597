import NocturneBatch
package import NocturneCore
import NocturneOutput
package import NocturneSystem

/// The values of a label map that was given as a scan. Its header is that of a scan.
///
/// A label map has few values, whole numbers from 0 up, in regions: of two neighbours that are not both background, most are equal.
/// Noise makes neighbours of a scan differ, also where it has 256 grey values. In 11 public label maps 65 to 97 % of such pairs are
/// equal along both axes of the slices, in 5 scans of 8 bits 0 to 15 %, in 3 of these enlarged by 2 without interpolation 48 to 57 %.
package struct LabelMapValues: Equatable {
    /// How many there are, 0 included.
    package let count: Int
    /// A whole number, at most 65,535.
    package let highest: Int

    /// Fewer voxels show too little.
    private static let leastVoxels = 1 << 15
    /// More values are those of a scan.
    private static let mostValues = 256
    /// Between the 57 % of an enlarged scan and the 65 % of a label map (above).
    private static let leastEqualShare = 0.6

    /// - Parameter channels: of one case.
    /// - Throws: `NotAnInput` if every channel is a label map; `CancelledError`.
    static func refuse(_ channels: [Volume], flag: CancellationFlag) throws {
        var first: LabelMapValues?
        for channel in channels {
            guard let values = try LabelMapValues(channel, flag: flag) else { return }
            first = first ?? values
        }
        guard let first else { return }
        let values =
            first.count == 2
            ? "its only values are 0 and \(first.highest)"
            : "its \(first.count) values are whole numbers from 0 to \(first.highest)"
        throw NotAnInput(
            .labelMap,
            "a label map, not a scan (\(own: values)). To measure it: --existing-labels --label-images FOLDER in a separate batch"
        )
    }

    /// Nil for a volume that is not a label map, or of which too little is known.
    /// - Throws: `CancelledError`.
    /// - Complexity: mostly a few thousand voxels of a scan; a label map is read twice.
    package init?(_ volume: Volume, flag: CancellationFlag) throws {
        let shape = volume.geometry.shape
        guard shape.count >= Self.leastVoxels else { return nil }
        let found = try volume.voxels.withUnsafeBufferPointer { voxels throws(CancelledError) -> LabelMapValues? in
            var seen = [Bool](repeating: false, count: 1 << 16)
            var (count, highest) = (0, 0)
            for plane in 0..<shape.z {
                try flag.check()
                for voxel in voxels[plane * shape.x * shape.y..<(plane + 1) * shape.x * shape.y] {
                    guard voxel >= 0, voxel < 65_536, voxel == voxel.rounded(.towardZero) else { return nil }
                    let value = Int(voxel)
                    if seen[value] { continue }
                    seen[value] = true
                    (count, highest) = (count + 1, max(highest, value))
                    if count > Self.mostValues { return nil }
                }
            }
            // Without background, or with a single value, it may be any volume.
            return seen[0] && count > 1 ? LabelMapValues(count: count, highest: highest) : nil
        }
        guard let found, try found.count == 2 || Self.equalShare(volume, flag) >= Self.leastEqualShare else {
            return nil
        }
        self = found
    }

    private init(count: Int, highest: Int) { (self.count, self.highest) = (count, highest) }

    /// Of the pairs of neighbours that are not both 0, how many are equal: along x or y, where they are fewer.
    private static func equalShare(_ volume: Volume, _ flag: CancellationFlag) throws(CancelledError) -> Double {
        let shape = volume.geometry.shape
        var pairs = (x: 0, y: 0)
        var equal = (x: 0, y: 0)
        try volume.voxels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            for row in 0..<shape.y * shape.z {
                if row % shape.y == 0 { try flag.check() }
                let isLast = row % shape.y == shape.y - 1
                for place in row * shape.x..<(row + 1) * shape.x {
                    let value = voxels[place]
                    if place + 1 < (row + 1) * shape.x, value != 0 || voxels[place + 1] != 0 {
                        pairs.x += 1
                        if voxels[place + 1] == value { equal.x += 1 }
                    }
                    if !isLast, value != 0 || voxels[place + shape.x] != 0 {
                        pairs.y += 1
                        if voxels[place + shape.x] == value { equal.y += 1 }
                    }
                }
            }
        }
        return min(Double(equal.x) / Double(max(1, pairs.x)), Double(equal.y) / Double(max(1, pairs.y)))
    }
}
