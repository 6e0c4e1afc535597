internal import CPhotoKernels
public import NocturneCore
public import NocturneSystem

/// The preprocessing a classifier needs, step by step as in its training: the square in the middle of the picture,
/// resized as Pillow does it, colour constancy, and for each channel (sample / 255 − mean) / deviation.
///
/// `Tools/lib/nocturne_tools/photo_reference.py` implements the same in Python.
public struct PhotoPreprocessing: Hashable, Sendable {
    /// Side of the picture that the model takes, in pixels.
    public let size: Int
    /// Whether colours are corrected by ``ShadesOfGray``, as in the training of the model.
    public let usesColourConstancy: Bool
    /// Of red, green and blue in 0…1. Defaults to those of ImageNet.
    public let mean: SIMD3<Double>
    /// Of red, green and blue in 0…1, above 0. Defaults to those of ImageNet.
    public let deviation: SIMD3<Double>

    /// Any values; ``prepare(_:flag:)`` checks them, because they come from `model.json`.
    public init(
        size: Int = 380,
        usesColourConstancy: Bool = true,
        mean: SIMD3<Double> = SIMD3(0.485, 0.456, 0.406),
        deviation: SIMD3<Double> = SIMD3(0.229, 0.224, 0.225)
    ) {
        self.size = size
        self.usesColourConstancy = usesColourConstancy
        self.mean = mean
        self.deviation = deviation
    }

    /// The input of a model, and how it was computed.
    public struct Prepared: Sendable {
        /// Red, green and blue planes one after the other ([3][size][size]), rows from the top, pixels from the left.
        public let values: [Float]
        /// Side of the square, in pixels.
        public let size: Int
        /// The part of the upright picture that `values` contain.
        public let part: PixelBox
        /// The same part in the model's size, before the colours were changed.
        public let picture: RGBImage
        /// nil where colour constancy was not requested.
        public let colourConstancy: ShadesOfGray?
    }

    /// Prepares an upright picture.
    ///
    /// Takes about a nanosecond per pixel of the square and two per pixel of the result; needs 12 bytes per pixel of
    /// the result plus the memory of ``PillowResize``.
    /// - Throws: ``NumericsError`` for a picture without pixels, or an invalid size, mean or deviation;
    ///   `CancelledError`.
    public func prepare(_ image: RGBImage, flag: CancellationFlag = CancellationFlag()) throws -> Prepared {
        try check()
        let part = PixelBox.centreSquare(width: image.width, height: image.height)
        let picture = try PillowResize.bilinear(image, part: part, width: size, height: size, flag: flag)
        return try prepare(resized: picture, part: part)
    }

    /// The resizing of ``prepare(_:flag:)`` for the centre square of a picture that is delivered some rows at a time.
    /// - Throws: ``NumericsError``
    public func rowResize(part: PixelBox) throws -> PillowResize {
        try check()
        return try PillowResize(sourceWidth: part.width, sourceHeight: part.height, width: size, height: size)
    }

    private func check() throws(NumericsError) {
        let numbers = (0..<3).flatMap { [mean[$0], deviation[$0]] }
        guard numbers.allSatisfy(\.isFinite), deviation.min() > 0 else {
            throw NumericsError.value("mean \(mean) and deviation \(deviation) cannot normalise a picture")
        }
        guard size > 0, size <= 1 << 14 else { throw NumericsError.shape("invalid model input size of \(size) pixels") }
    }

    /// The steps after the resizing.
    /// - Parameters:
    ///   - picture: `size` × `size` pixels.
    ///   - part: the part of the upright picture that it shows.
    /// - Throws: ``NumericsError``
    public func prepare(resized picture: RGBImage, part: PixelBox) throws -> Prepared {
        try check()
        guard picture.width == size, picture.height == size else {
            throw NumericsError.shape("\(picture.width)×\(picture.height) pixels; expected \(size)×\(size)")
        }
        let constancy = usesColourConstancy ? ShadesOfGray(measuring: picture) : nil
        let tables = valuesByLevel(gains: constancy?.gains ?? SIMD3(repeating: 1))
        let count = size * size
        let values = [Float](unsafeUninitializedCapacity: 3 * count) { planes, filled in
            picture.samples.withUnsafeBufferPointer {
                photo_look_up($0.baseAddress, count, tables, planes.baseAddress, count)
            }
            filled = 3 * count
        }
        return Prepared(values: values, size: size, part: part, picture: picture, colourConstancy: constancy)
    }

    /// The peak memory in bytes of ``prepare(_:flag:)`` in addition to the picture of that size, including the result.
    public func predictedBytes(width: Int, height: Int) -> Int {
        let side = min(width, height)
        let taps = 2 * max(side / max(size, 1), 1) + 16
        return 3 * size * side + 15 * size * size + size * taps * 24 + 3 * side
    }

    /// The final value for each of the 256 levels, red first.
    private func valuesByLevel(gains: SIMD3<Double>) -> [Float] {
        (0..<768).map { index in
            let channel = index / 256
            let level = min(max(Double(index % 256) * gains[channel], 0), 255)
            return Float((level / 255 - mean[channel]) / deviation[channel])
        }
    }
}
