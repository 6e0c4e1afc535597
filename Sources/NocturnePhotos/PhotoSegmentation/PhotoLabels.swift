import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturnePostprocess
import NocturneSystem

extension PhotoSegmentationResult.Label {
    /// - Parameters:
    ///   - measured: on pixels of 1 × 1.
    ///   - color: the sums of the samples of its pixels.
    ///   - confidence: of the networks in the label; a mean needs at least one pixel.
    ///   - cleaning: nil without rules for the label.
    init(
        _ label: ModelLabel,
        _ measured: LabelMeasurement,
        color: SIMD3<Int>,
        of photo: RGBImage,
        confidence: LabelConfidence?,
        cleaning: LabelCleaning?
    ) {
        let (box, pixels) = (measured.boundingBox, measured.voxelCount)
        let touchesBorder = box.map {
            $0.lower.x == 0 || $0.lower.y == 0 || $0.upper.x == photo.width || $0.upper.y == photo.height
        }
        let status: LabelMeasurement.Status = touchesBorder.map { $0 ? .touchesBorder : .complete } ?? .absent
        self.init(
            value: Int(label.value),
            name: label.name,
            color: label.color.description,
            code: label.code,
            status: status.rawValue,
            pixels: pixels,
            share: (Double(pixels) / Double(photo.width * photo.height)).inMillionths,
            components: measured.components ?? 0,
            largestComponentShare: measured.largestComponentShare.map(\.inMillionths),
            box: box.map { PixelBox(x: $0.lower.x, y: $0.lower.y, width: $0.shape.x, height: $0.shape.y) },
            centroid: measured.centroid.map { [($0.x + 0.5).inMillionths, ($0.y + 0.5).inMillionths] },
            meanColor: box.map { _ in (0..<3).map { (Double(color[$0]) / Double(pixels)).inMillionths } },
            confidence: box.flatMap { _ in confidence?.inMillionths },
            cleaning: cleaning.map { .init($0) }
        )
    }
}

extension PhotoSegmentation {
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
