import NocturneCore
import NocturneNumerics
import NocturnePostprocess

/// Crops single instances out of a photo.
enum CropDrawing {
    /// Part of a photo with only one instance visible.
    struct Crop {
        var image: RGBImage
        /// One opacity per pixel: 255 inside the mask, 0 outside, where colours are black.
        var alpha: [UInt8]
    }

    /// The instance as it lies in the photo: its bounding box.
    static func plain(_ instance: PhotoInstances.FoundInstance, of photo: RGBImage) -> Crop {
        let box = instance.box
        var crop = Crop(
            image: RGBImage(width: box.width, height: box.height),
            alpha: [UInt8](repeating: 0, count: box.width * box.height)
        )
        instance.mask.forEachRun { x, rows in
            for y in rows { crop.alpha[(y - box.y) * box.width + x - box.x] = 255 }
        }
        photo.samples.withUnsafeBufferPointer { source in
            crop.image.samples.withUnsafeMutableBufferPointer { target in
                // Row by row, as the photo lies in memory.
                for y in 0..<box.height {
                    let (row, from) = (y * box.width, (y + box.y) * photo.width + box.x)
                    for run in runs(of: crop.alpha[row..<row + box.width]) {
                        let first = 3 * (from + run.lowerBound - row)
                        _ = target[3 * run.lowerBound..<3 * run.upperBound].update(
                            fromContentsOf: source[first..<first + 3 * run.count]
                        )
                    }
                }
            }
        }
        return crop
    }

    /// The stretches that are not transparent.
    private static func runs(of alpha: ArraySlice<UInt8>) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var rest = alpha
        while let first = rest.firstIndex(where: { $0 != 0 }) {
            let end = rest[first...].firstIndex(of: 0) ?? alpha.endIndex
            runs.append(first..<end)
            rest = alpha[end...]
        }
        return runs
    }

    /// Rotated upright: its rotated box, sampled with bilinear interpolation.
    /// - Parameter plain: the instance as it lies in the photo.
    static func upright(_ instance: PhotoInstances.FoundInstance, from plain: Crop) -> Crop {
        let (width, height) = uprightSize(of: instance)
        var crop = Crop(
            image: RGBImage(width: width, height: height),
            alpha: [UInt8](repeating: 0, count: width * height)
        )
        let (across, down) = steps(of: instance.rotated)
        let start =
            place(of: .zero, inUpright: instance)
            - SIMD2(Double(instance.box.x) + 0.5, Double(instance.box.y) + 0.5)
        MaskedSampling.sample(
            plain.image,
            opacity: plain.alpha,
            at: MaskedSampling.Grid(start: start, across: across, down: down),
            into: &crop.image,
            alpha: &crop.alpha
        )
        return crop
    }

    private static func uprightSize(of instance: PhotoInstances.FoundInstance) -> (width: Int, height: Int) {
        let box = instance.rotated
        return (max(Int(box.width.rounded(.up)), 1), max(Int(box.height.rounded(.up)), 1))
    }

    /// From one pixel of the upright crop to the next in its row and column, in pixels of the photo.
    private static func steps(of box: RotatedBox) -> (across: SIMD2<Double>, down: SIMD2<Double>) {
        ((box.corners[1] - box.corners[0]) / box.width, (box.corners[3] - box.corners[0]) / box.height)
    }

    /// Where a point of the upright crop lies in the photo.
    /// - Parameter point: in pixels of the crop, whose centres are whole numbers.
    /// - Returns: in pixels of the photo, from the corner of the first one.
    static func place(of point: SIMD2<Double>, inUpright instance: PhotoInstances.FoundInstance) -> SIMD2<Double> {
        let (width, height) = uprightSize(of: instance)
        let (across, down) = steps(of: instance.rotated)
        // The crop is larger than the box by a fraction of a pixel; their centres are the same.
        return instance.rotated.centre - across * (Double(width) / 2 - 0.5 - point.x)
            - down * (Double(height) / 2 - 0.5 - point.y)
    }

    /// White where the crop is transparent.
    static func onWhite(_ crop: Crop) -> RGBImage {
        var image = crop.image
        image.samples.withUnsafeMutableBufferPointer { samples in
            for (place, alpha) in crop.alpha.enumerated() where alpha == 0 {
                samples[3 * place] = 255
                samples[3 * place + 1] = 255
                samples[3 * place + 2] = 255
            }
        }
        return image
    }

    private static let thumbnailSide = 256

    /// Small, on white, for lists.
    static func thumbnail(of crop: Crop) throws -> RGBImage {
        try OverlayDrawing.reduced(onWhite(crop), longestSide: thumbnailSide)
    }
}
