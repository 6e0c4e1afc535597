import NocturneCore
import NocturnePostprocess
import NocturneSystem

extension PhotoSegmentation {
    /// What is measured of a label on the pixels of its photo.
    struct Label: Sendable {
        let value: UInt16
        let pixels: Int
        /// Nil when the label is absent, as the following.
        let box: PixelBox?
        /// Column and row: the mean of the pixels' centres, the upper left one's being (0.5, 0.5).
        let centroid: SIMD2<Double>?
        /// Red, green and blue, 0 to 255.
        let meanColor: SIMD3<Double>?
        let components: Int
        let largestComponentShare: Double?
        let touchesBorder: Bool

        /// - Parameters:
        ///   - measured: on pixels of 1 × 1.
        ///   - color: the sums of the samples of its pixels.
        init(_ measured: LabelMeasurement, _ color: SIMD3<Int>, of photo: (width: Int, height: Int)) {
            value = measured.value
            pixels = measured.voxelCount
            components = measured.components ?? 0
            largestComponentShare = measured.largestComponentShare
            centroid = measured.centroid.map { SIMD2($0.x + 0.5, $0.y + 0.5) }
            guard let found = measured.boundingBox else {
                (box, meanColor, touchesBorder) = (nil, nil, false)
                return
            }
            let size = found.upper &- found.lower
            box = PixelBox(x: found.lower.x, y: found.lower.y, width: size.x, height: size.y)
            meanColor = SIMD3<Double>(color) / Double(measured.voxelCount)
            touchesBorder =
                found.lower.x == 0 || found.lower.y == 0 || found.upper.x == photo.width
                || found.upper.y == photo.height
        }

        /// The sums of red, green and blue over the pixels of each label but 0.
        /// - Throws: `CancelledError`.
        static func colorSums(
            _ labels: FrozenVoxels<UInt16>,
            on photo: RGBImage,
            flag: CancellationFlag
        ) throws -> [UInt16: SIMD3<Int>] {
            var sums: [UInt16: SIMD3<Int>] = [:]
            try labels.withUnsafeBufferPointer { labels in
                try photo.samples.withUnsafeBufferPointer { samples in
                    for y in 0..<photo.height {
                        try flag.check()
                        var (value, sum) = (UInt16(0), SIMD3(0, 0, 0))
                        for pixel in y * photo.width..<(y + 1) * photo.width {
                            if labels[pixel] != value {
                                if value != 0 { sums[value, default: SIMD3(0, 0, 0)] &+= sum }
                                (value, sum) = (labels[pixel], SIMD3(0, 0, 0))
                            }
                            let place = 3 * pixel
                            sum &+= SIMD3(Int(samples[place]), Int(samples[place + 1]), Int(samples[place + 2]))
                        }
                        if value != 0 { sums[value, default: SIMD3(0, 0, 0)] &+= sum }
                    }
                }
            }
            return sums
        }
    }
}
