import Glibc
public import NocturneConcurrency
public import NocturneCore

/// A Gaussian filter of logits that arrive plane by plane: SciPy's `ndimage.gaussian_filter` with the mode `nearest`.
///
/// Along an axis with the standard deviation σ in voxels, a value becomes the sum of weight(i) · x(i) over the offsets i from −r to r
/// with r = floor(4σ + 0.5), where weight(i) is exp(−i² / 2σ²), divided by the sum of all weights. Beyond the grid its border
/// continues. The axes follow each other (planes, rows, columns), sums are computed in float64 in SciPy's order, and what an axis
/// has made is rounded to float32.
///
/// **Memory.** The planes within the radius of a plane, and two more. A plane has the same bits wherever the planes began to arrive,
/// and for any number of threads.
public final class LogitBlur {
    private let classes: Int
    private let shape: VolumeShape
    /// Of planes, rows and columns.
    private let kernels: [GaussianKernel]
    /// Plane p is in slot p % depth: `[class][y][x]`.
    private var window: VoxelBuffer<Float>
    private let depth: Int
    private var blurred: VoxelBuffer<Float>
    private var result: VoxelBuffer<Float>
    /// The plane that must be pushed next.
    public private(set) var nextPlane: Int

    /// - Parameters:
    ///   - sigmas: in voxels, for planes, rows and columns; at least 0, which changes nothing.
    ///   - shape: of the grid of the logits.
    ///   - plane: the first plane that is wanted.
    /// - Throws: `AllocationError`.
    public init(sigmas: [Double], shape: VolumeShape, classes: Int, resumingAtPlane plane: Int = 0) throws {
        precondition(sigmas.count == 3 && classes > 0 && (0...shape.z).contains(plane), "no such grid or plane")
        self.classes = classes
        self.shape = shape
        kernels = sigmas.map(GaussianKernel.init)
        nextPlane = Self.firstPlane(neededForPlanesFrom: plane, sigmas: sigmas, shape: shape)
        depth = Self.depth(sigmas: sigmas, shape: shape)
        let area = classes * shape.sliceCount
        window = try VoxelBuffer(count: depth * area)
        blurred = try VoxelBuffer(count: area)
        result = try VoxelBuffer(count: area)
    }

    /// Where planes must begin to arrive so that those from `plane` on are right.
    public static func firstPlane(neededForPlanesFrom plane: Int, sigmas: [Double], shape: VolumeShape) -> Int {
        plane >= shape.z ? plane : max(0, plane - GaussianKernel(sigma: sigmas[0]).radius)
    }

    /// Planes of the window: a plane, those within the radius on both sides, and no more than there are.
    private static func depth(sigmas: [Double], shape: VolumeShape) -> Int {
        min(2 * GaussianKernel(sigma: sigmas[0]).radius + 1, shape.z)
    }

    /// The memory in bytes.
    public static func predictedBytes(sigmas: [Double], shape: VolumeShape, classes: Int) -> Int {
        (depth(sigmas: sigmas, shape: shape) + 2) * classes * shape.sliceCount * MemoryLayout<Float>.stride
    }

    /// How many planes, from the first on, can be computed once those below `arrived` have been pushed.
    public func computablePlanes(afterPlanes arrived: Int) -> Int {
        arrived >= shape.z ? shape.z : max(0, arrived - kernels[0].radius)
    }

    /// The last plane that ``withPlane(_:scope:_:)`` needs for a plane.
    public func lastPlane(neededFor plane: Int) -> Int { min(plane + kernels[0].radius, shape.z - 1) }

    /// Takes plane ``nextPlane``, `[class][y][x]`.
    /// - Throws: ``NumericsError`` for a plane of another size.
    public func push(_ plane: UnsafeBufferPointer<Float>) throws(NumericsError) {
        let area = classes * shape.sliceCount
        guard plane.count == area, let base = plane.baseAddress else {
            throw .count("plane of logits", expected: area, found: plane.count)
        }
        let slot = nextPlane % depth
        window.withUnsafeMutableBufferPointer { window in
            window.baseAddress.map { ($0 + slot * area).update(from: base, count: area) }
        }
        nextPlane += 1
    }

    /// Calls `body` with a plane after the filter. The planes up to ``lastPlane(neededFor:)`` have been pushed, and none after it.
    ///
    /// - Complexity: about 0.5 ns for each value and each offset of the three axes, in parallel by rows.
    /// - Throws: `CancelledError`; what `body` throws.
    public func withPlane(
        _ plane: Int,
        scope: ComputeScope,
        _ body: (UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        precondition(nextPlane == lastPlane(neededFor: plane) + 1, "the planes around plane \(plane) are needed")
        let (shape, depth, area) = (shape, depth, classes * shape.sliceCount)
        let (alongZ, alongY, alongX) = (kernels[0], kernels[1], kernels[2])
        let rows = classes * shape.y
        try window.withParallelReader { window in
            try blurred.withParallelBuffer { blurred in
                // About 4096 values for a thread at a time.
                try scope.forEachRange(of: rows, by: max(1, (1 << 12) / shape.x)) { rows in
                    for row in rows {
                        alongZ.apply(to: blurred + row * shape.x, count: shape.x) { offset in
                            // Beyond the first and last plane the border continues.
                            window + min(max(plane + offset, 0), shape.z - 1) % depth * area + row * shape.x
                        }
                    }
                }
            }
        }
        try blurred.withParallelReader { blurred in
            try result.withParallelBuffer { result in
                try scope.forEachRange(of: rows, by: max(1, (1 << 12) / shape.x)) { rows in
                    for row in rows {
                        let (first, y) = (row - row % shape.y, row % shape.y)
                        alongY.apply(to: result + row * shape.x, count: shape.x) { offset in
                            blurred + (first + min(max(y + offset, 0), shape.y - 1)) * shape.x
                        }
                        // In the cache still, from the sum along columns.
                        alongX.apply(alongRow: result + row * shape.x, count: shape.x)
                    }
                }
            }
        }
        try result.withUnsafeBufferPointer(body)
    }

    /// The weights of a Gaussian filter along an axis.
    fileprivate struct GaussianKernel: Sendable {
        let radius: Int
        /// For offsets 0 to the radius, those of both signs alike.
        private let weights: [Double]

        init(sigma: Double) {
            radius = Int(4 * sigma + 0.5)
            let values = (0...radius).map { $0 == 0 ? 1 : exp(-0.5 / (sigma * sigma) * Double($0 * $0)) }
            // In the order from −r to r.
            let sum = (-radius...radius).reduce(0) { $0 + values[abs($1)] }
            weights = values.map { $0 / sum }
        }

        /// Filters across rows.
        /// - Parameter row: the row of values at an offset.
        func apply(
            to result: UnsafeMutablePointer<Float>,
            count: Int,
            row: (Int) -> UnsafePointer<Float>
        ) {
            let middle = row(0)
            guard radius > 0 else { return result.update(from: middle, count: count) }
            withUnsafeTemporaryAllocation(of: Double.self, capacity: count) { sums in
                // In double precision like SciPy, whose order of summation gives the same last bits.
                for x in 0..<count { sums[x] = Double(middle[x]) * weights[0] }
                // SciPy adds the far offsets first.
                for offset in stride(from: radius, to: 0, by: -1) {
                    let (before, after, weight) = (row(-offset), row(offset), weights[offset])
                    for x in 0..<count { sums[x] += (Double(before[x]) + Double(after[x])) * weight }
                }
                for x in 0..<count { result[x] = Float(sums[x]) }
            }
        }

        /// Filters along a row, in place.
        func apply(alongRow row: UnsafeMutablePointer<Float>, count: Int) {
            guard radius > 0 else { return }
            withUnsafeTemporaryAllocation(of: Float.self, capacity: count + 2 * radius) { line in
                guard let base = line.baseAddress else { return }
                // The row with its border continued on both sides.
                for x in 0..<radius {
                    line[x] = row[0]
                    line[count + radius + x] = row[count - 1]
                }
                (base + radius).update(from: row, count: count)
                apply(to: row, count: count) { UnsafePointer(base + radius + $0) }
            }
        }
    }
}
