import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneSystem

extension PhotoSegmentation {
    /// The photo with every label tinted and outlined, and a legend below it.
    struct Overlay {
        /// All labels of the package.
        let labels: [ModelLabel]
        let entries: [PhotoSegmentationResult.Label]
        /// Of the photo in the overlay; it is never larger than the photo itself.
        let longestSide: Int

        /// - Parameter labels: `[y][x]` on the pixels of the photo.
        /// - Throws: `NumericsError`, `CancelledError`.
        func draw(_ map: FrozenVoxels<UInt16>, on photo: RGBImage, flag: CancellationFlag) throws -> RGBImage {
            var picture = try OverlayDrawing.reduced(photo, longestSide: longestSide, flag: flag)
            let size = (picture.width, picture.height)
            let reduced = Self.reduced(map, of: (photo.width, photo.height), to: size)
            // A table for all values of a pixel, instead of a search among the labels for each.
            var colors = [SIMD3<UInt8>](repeating: SIMD3(repeating: 0), count: 1 << 16)
            for label in labels { colors[Int(label.value)] = label.color.components }
            let whole = PixelBox(x: 0, y: 0, width: size.0, height: size.1)
            // The border of the photo is not an outline.
            try OverlayDrawing.tint(&picture, reduced, in: whole, colors: colors, beyond: true, flag: flag)
            return PictureLegend(entries: legend(of: photo)).drawn(below: picture)
        }

        private func legend(of photo: RGBImage) -> [PictureLegend.Entry] {
            zip(labels, entries).compactMap { label, entry in
                guard entry.pixels > 0 else { return nil }
                let percent = 100 * Double(entry.pixels) / Double(photo.width * photo.height)
                let text = "\(label.name)  \(Self.text(percent)) %"
                return PictureLegend.Entry(text: text, color: label.color.components)
            }
        }

        /// With one digit behind the point, or as `< 0.1`.
        private static func text(_ percent: Double) -> String {
            // A label that is there is never shown as 0.0 %.
            let tenths = Int((percent * 10).rounded())
            return tenths == 0 ? "< 0.1" : "\(tenths / 10).\(tenths % 10)"
        }

        /// The label at the centre of every pixel of the overlay.
        private static func reduced(
            _ map: FrozenVoxels<UInt16>,
            of photo: (width: Int, height: Int),
            to size: (width: Int, height: Int)
        ) -> [UInt16] {
            // The centre, without a mean: between the numbers of two labels there may be a third label.
            func places(_ count: Int, _ source: Int) -> [Int] {
                (0..<count).map { min(Int((Double($0) + 0.5) * Double(source) / Double(count)), source - 1) }
            }
            let (columns, rows) = (places(size.width, photo.width), places(size.height, photo.height))
            return map.withUnsafeBufferPointer { map in
                [UInt16](unsafeUninitializedCapacity: size.width * size.height) { result, count in
                    for row in rows {
                        for column in columns {
                            result.initializeElement(at: count, to: map[row * photo.width + column])
                            count += 1
                        }
                    }
                }
            }
        }
    }
}
