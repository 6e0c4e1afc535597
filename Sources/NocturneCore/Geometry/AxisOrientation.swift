/// A rearrangement of index axes: which stored axis becomes each new axis, and whether its direction is reversed.
public struct AxisOrientation: Hashable, Sendable, Codable {
    /// `source[a]` is the stored axis (0 = i, 1 = j, 2 = k) that lies closest to RAS axis `a` (0 = R, 1 = A, 2 = S).
    public let source: [Int]
    /// Whether that stored axis runs opposite to RAS axis `a`.
    public let reversed: [Bool]

    /// Traps unless `source` is a permutation of 0, 1, 2 and `reversed` has three elements.
    public init(source: [Int], reversed: [Bool]) {
        precondition(Set(source) == [0, 1, 2] && reversed.count == 3, "an orientation is a permutation with signs")
        self.source = source
        self.reversed = reversed
    }

    /// The rearrangement that changes nothing.
    public static let stored = AxisOrientation(source: [0, 1, 2], reversed: [false, false, false])

    /// The rearrangement of an array's axes by `axes`, in NumPy's order, where (0, 1, 2) are (z, y, x): axis n of the
    /// result is axis `axes[n]` of the source. nnU-Net's plans define `transpose_forward` this way.
    ///
    /// nil when `axes` is not a permutation of 0, 1, 2.
    public init?(transposing axes: [Int]) {
        guard axes.count == 3, Set(axes) == [0, 1, 2] else { return nil }
        self.init(source: axes.reversed().map { 2 - $0 }, reversed: [false, false, false])
    }

    /// This rearrangement, and `next` applied to its result.
    public func followed(by next: AxisOrientation) -> AxisOrientation {
        AxisOrientation(
            source: next.source.map { source[$0] },
            reversed: (0..<3).map { reversed[next.source[$0]] != next.reversed[$0] }
        )
    }

    /// The rearrangement that undoes this one.
    public var inverse: AxisOrientation {
        var source = [0, 0, 0]
        var reversed = [false, false, false]
        for axis in 0..<3 {
            source[self.source[axis]] = axis
            reversed[self.source[axis]] = self.reversed[axis]
        }
        return AxisOrientation(source: source, reversed: reversed)
    }

    /// The rearrangement that brings a grid closest to RAS+, as nibabel's `io_orientation` and ITK choose it.
    ///
    /// Of the grid's axes, the one that lies closest to some patient axis is assigned first, then the next ones, each to
    /// the closest patient axis that is left. On a tie, the first axis is taken, and the first patient axis; nibabel and
    /// ITK leave ties to rounding. The axes of a sheared grid are first replaced by those of the closest grid without shear.
    public init(of affine: Affine) {
        let directions = affine.closestRotation
        let closeness = directions.map { max(abs($0.x), abs($0.y), abs($0.z)) }
        var axes: [Int] = []
        while axes.count < 3 {
            axes.append(Self.first(of: closeness, except: axes))
        }
        var source = [0, 0, 0]
        var taken: [Int] = []
        for axis in axes {
            let direction = directions[axis]
            taken.append(Self.first(of: [abs(direction.x), abs(direction.y), abs(direction.z)], except: taken))
            source[taken[taken.count - 1]] = axis
        }
        self.init(source: source, reversed: (0..<3).map { directions[source[$0]][$0] < 0 })
    }

    /// The place of the largest of three values; values that differ by less than rounding does count as equal.
    private static func first(of values: [Double], except taken: [Int]) -> Int {
        let left = (0..<3).filter { !taken.contains($0) }
        return left.dropFirst().reduce(left[0]) { values[$1] > values[$0] + 1e-9 ? $1 : $0 }
    }

    /// Whether the stored order is kept, so that no copy is needed.
    public var changesNothing: Bool { self == .stored }

    /// The letters of the directions in which the stored axes i, j, k grow.
    public var code: String {
        var letters: [Character] = ["?", "?", "?"]
        for axis in 0..<3 {
            letters[source[axis]] = Array(reversed[axis] ? "LPI" : "RAS")[axis]
        }
        return String(letters)
    }

    /// The rearranged shape.
    public func shape(from stored: VolumeShape) -> VolumeShape {
        VolumeShape(x: stored[source[0]], y: stored[source[1]], z: stored[source[2]])
    }

    /// The stored voxel index of rearranged voxel `index`.
    public func storedIndex(of index: (Int, Int, Int), in stored: VolumeShape) -> (Int, Int, Int) {
        var result = [0, 0, 0]
        let parts = [index.0, index.1, index.2]
        for axis in 0..<3 {
            result[source[axis]] = reversed[axis] ? stored[source[axis]] - 1 - parts[axis] : parts[axis]
        }
        return (result[0], result[1], result[2])
    }

    /// The rearranged geometry: every voxel keeps its position in the patient.
    public func geometry(from stored: VolumeGeometry) -> VolumeGeometry {
        var columns: [SIMD3<Double>] = []
        var translation = stored.affine.translation
        for axis in 0..<3 {
            let column = stored.affine.column(source[axis])
            if reversed[axis] { translation += column * Double(stored.shape[source[axis]] - 1) }
            columns.append(reversed[axis] ? -column : column)
        }
        return VolumeGeometry(
            shape: shape(from: stored.shape),
            affine: Affine(columnI: columns[0], columnJ: columns[1], columnK: columns[2], translation: translation)
        )
    }
}
