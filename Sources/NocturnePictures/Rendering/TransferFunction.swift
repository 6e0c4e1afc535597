import Foundation

/// How the intensities of a volume look when rays of light pass through it: a colour and an extinction for each.
///
/// Linear between its points; below the first and above the last it has their values. Extinction is the coefficient of
/// Beer and Lambert's law, per mm: a layer of d mm is opaque to the share 1 - exp(-extinction · d), whatever the distance
/// between samples.
public struct TransferFunction: Hashable, Sendable {
    /// A point between which colour and extinction are linear.
    public struct Point: Hashable, Sendable {
        /// In the unit of the volume: HU for CT.
        public let intensity: Double
        /// Red, green and blue.
        public let color: SIMD3<UInt8>
        /// Per mm, not negative.
        public let extinction: Double

        /// - Parameter extinction: per mm, not negative.
        public init(_ intensity: Double, _ color: SIMD3<UInt8>, extinction: Double) {
            self.intensity = intensity
            self.color = color
            self.extinction = extinction
        }
    }

    /// At least two, of increasing intensity. Voxels outside their range are read as its ends.
    public let points: [Point]
    /// The gradient of intensities per mm at which a place is half shaded as a surface: weaker ones are mostly noise.
    public let surfaceGradient: Double

    /// Traps unless there are two points or more of increasing intensity.
    /// - Parameter surfaceGradient: in intensity per mm, above 0.
    public init(_ points: [Point], surfaceGradient: Double) {
        precondition(
            points.count > 1 && zip(points, points.dropFirst()).allSatisfy { $0.intensity < $1.intensity }
                && points.allSatisfy { $0.extinction >= 0 } && surfaceGradient > 0,
            "a transfer function has points of increasing intensity"
        )
        self.points = points
        self.surfaceGradient = surfaceGradient
    }

    /// Nothing of the volume is visible, only its labels.
    public static let invisible = TransferFunction(
        [.init(0, SIMD3(0, 0, 0), extinction: 0), .init(1, SIMD3(0, 0, 0), extinction: 0)],
        // Far below the gradients of labels, which are lit by it too.
        surfaceGradient: 1e-3
    )

    var lower: Double { points[0].intensity }
    var upper: Double { points[points.count - 1].intensity }

    /// Colour from 0 to 1, and extinction per mm.
    func value(at intensity: Double) -> SIMD4<Double> {
        func parts(_ point: Point) -> SIMD4<Double> {
            SIMD4(SIMD3<Double>(SIMD3<Int>(truncatingIfNeeded: point.color)) / 255, point.extinction)
        }
        let place = min(max(points.firstIndex { $0.intensity > intensity } ?? points.count - 1, 1), points.count - 1)
        let (first, second) = (points[place - 1], points[place])
        let share = (intensity - first.intensity) / (second.intensity - first.intensity)
        return parts(first) + (parts(second) - parts(first)) * min(max(share, 0), 1)
    }
}

extension TransferFunction {
    /// A transfer function for voxels of 16 bits and a distance between samples.
    struct Table: Sendable {
        /// Voxels of 16 bits have sixteen values for each entry.
        static let shift: UInt16 = 4
        private static let count = 1 << (16 - Int(shift))

        /// The distance between samples in mm.
        let step: Double
        /// That of the function, in the units of the voxels.
        let surfaceGradient: Float
        /// For each entry, and for the end: the sums over the entries before it of red, green and blue, each times the optical
        /// depth of one sample, and of that depth. The difference of two gives the mean of the entries between them.
        let sums: [SIMD4<Double>]

        /// - Parameter step: the distance between samples in mm.
        init(_ function: TransferFunction, step: Double) {
            self.step = step
            surfaceGradient = Float(function.surfaceGradient * 65535 / (function.upper - function.lower))
            let width = (function.upper - function.lower) / Double(Self.count)
            var sums = [SIMD4<Double>.zero]
            for place in 0..<Self.count {
                let value = function.value(at: function.lower + (Double(place) + 0.5) * width)
                let depth = value.w * step
                sums.append(sums[place] + SIMD4(value.x * depth, value.y * depth, value.z * depth, depth))
            }
            self.sums = sums
        }

        /// Whether values from `lower` to `upper`, or one entry beyond them, are visible.
        func shows(_ lower: UInt16, _ upper: UInt16) -> Bool {
            let first = max(Int(lower >> Self.shift) - 1, 0)
            let end = min(Int(upper >> Self.shift) + 2, Self.count)
            return sums[end].w > sums[first].w
        }
    }
}
