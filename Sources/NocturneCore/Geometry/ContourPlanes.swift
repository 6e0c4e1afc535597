/// A closed polygon on a slice of constant k.
public struct SliceContour: Hashable, Sendable {
    /// The index k.
    public var slice: Int
    /// (i, j) in voxel indices, with voxel centres at integers; the last point is connected to the first.
    public var points: [SIMD2<Double>]

    /// - Parameters:
    ///   - slice: the index k.
    ///   - points: (i, j) in voxel indices, in either direction of rotation.
    public init(slice: Int, points: [SIMD2<Double>]) {
        self.slice = slice
        self.points = points
    }
}

/// Closed contours grouped by the parallel planes that contain them.
///
/// The planes are normal to the contour with the largest area (Newell's method). Contours that are not planar, or have
/// another direction, are returned separately.
public struct ContourPlanes: Sendable {
    /// One plane with its contours.
    public struct Plane: Sendable {
        /// Along ``ContourPlanes/normal``, in mm.
        public var height: Double
        /// Indices of contours.
        public var contours: [Int]
    }

    /// A unit vector whose largest component is positive.
    public let normal: SIMD3<Double>
    /// Two unit vectors in the planes, so that `axisU` × `axisV` = `normal`.
    public let axisU: SIMD3<Double>
    /// The second of them.
    public let axisV: SIMD3<Double>
    /// Sorted by increasing height.
    public let planes: [Plane]
    /// Contours in none of the planes, or with fewer than three points.
    public let others: [Int]
    /// The median distance between neighbouring planes; nil for a single plane.
    public let step: Double?

    /// The maximum distance in mm of a contour's points from its plane, and of the contours of one plane from each
    /// other.
    public static let tolerance = 0.05

    /// Nil when no contour has an area. Points are finite, in mm.
    /// - Complexity: linear in the number of points, plus a sort of the contours.
    public init?(of contours: [[SIMD3<Double>]]) {
        let normals = contours.map { Self.doubledArea(of: $0) }
        guard let largest = normals.indices.max(by: { length(normals[$0]) < length(normals[$1]) }),
            length(normals[largest]) > 0, length(normals[largest]).isFinite
        else { return nil }
        var normal = normals[largest] / length(normals[largest])
        // Components that differ only by rounding must not decide the sign.
        let most = max(abs(normal.x), abs(normal.y), abs(normal.z)) - 1e-6
        let leading = (0..<3).last { abs(normal[$0]) >= most } ?? 2
        if normal[leading] < 0 { normal = -normal }
        // Aligned with the patient's axes where the planes are.
        let helper: SIMD3<Double> = abs(normal.x) < 0.9 ? SIMD3(1, 0, 0) : SIMD3(0, 1, 0)
        var along = helper - normal * dot(helper, normal)
        along /= length(along)

        var others: [Int] = []
        var placed: [(height: Double, contour: Int)] = []
        for (index, points) in contours.enumerated() {
            let heights = points.map { dot($0, normal) }
            guard points.count >= 3, let lowest = heights.min(), let highest = heights.max(),
                highest - lowest <= 2 * Self.tolerance
            else {
                others.append(index)
                continue
            }
            placed.append(((lowest + highest) / 2, index))
        }
        placed.sort { $0.height != $1.height ? $0.height < $1.height : $0.contour < $1.contour }
        var planes: [Plane] = []
        for (height, contour) in placed {
            if let last = planes.last, height - last.height <= Self.tolerance {
                planes[planes.count - 1].contours.append(contour)
            } else {
                planes.append(Plane(height: height, contours: [contour]))
            }
        }
        let gaps = zip(planes, planes.dropFirst()).map { $1.height - $0.height }.sorted()
        self.normal = normal
        axisU = along
        axisV = cross(normal, along)
        self.planes = planes
        self.others = others
        step = gaps.isEmpty ? nil : gaps[(gaps.count - 1) / 2]
    }

    /// The coordinates of a point: along the two axes in the plane, and its height.
    public func coordinates(of point: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(dot(point, axisU), dot(point, axisV), dot(point, normal))
    }

    /// The reverse of ``coordinates(of:)``.
    public func point(at place: SIMD3<Double>) -> SIMD3<Double> {
        axisU * place.x + axisV * place.y + normal * place.z
    }

    /// Newell's sum: a vector normal to the plane whose length is twice the area.
    private static func doubledArea(of points: [SIMD3<Double>]) -> SIMD3<Double> {
        guard points.count >= 3 else { return .zero }
        var sum = SIMD3<Double>.zero
        for index in 1..<(points.count - 1) {
            sum += cross(points[index] - points[0], points[index + 1] - points[0])
        }
        return sum
    }
}
