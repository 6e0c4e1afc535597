internal import CPhotoKernels
internal import Glibc
public import NocturneCore

/// Colour constancy by Shades of Gray: the light's colour is estimated from the picture and divided out.
///
/// Method: Finlayson and Trezzi 2004 with the Minkowski norm p = 6, as is usual for dermoscopy. The norm of a channel
/// is the sixth root of the mean of its samples' sixth powers; grey is the mean of the three norms; each channel is
/// multiplied by grey over its norm and clamped to 0…255.
public struct ShadesOfGray: Hashable, Sendable {
    /// Why a picture was left unchanged.
    public enum Exemption: String, Hashable, Sendable, CaseIterable {
        /// No channel varies by more than two levels: its colour contains no information about the light.
        case flat
        /// Every norm is below eight levels: scaling would only amplify noise.
        case nearBlack
    }

    /// The factors of red, green and blue; 1 for a picture that is left unchanged.
    public let gains: SIMD3<Double>
    /// Why the gains are all 1; nil where the picture is corrected.
    public let exemption: Exemption?

    /// Measures a picture in one pass that counts samples, about a nanosecond per pixel.
    public init(measuring image: RGBImage) {
        var counts = [UInt32](repeating: 0, count: 768)
        image.samples.withUnsafeBufferPointer { photo_histogram($0.baseAddress, $0.count / 3, &counts) }
        self.init(counts: counts, pixelCount: image.samples.count / 3)
    }

    private init(counts: [UInt32], pixelCount: Int) {
        var norms = SIMD3<Double>(repeating: 0)
        var widest = 0
        for channel in 0..<3 {
            let levels = counts[channel * 256..<(channel + 1) * 256]
            var sum = 0.0
            for (level, count) in levels.enumerated() where count > 0 {
                let square = Double(level * level)
                sum += square * square * square * Double(count)
            }
            norms[channel] = pow(sum / Double(max(pixelCount, 1)), 1.0 / 6)
            let first = levels.firstIndex { $0 > 0 } ?? 0
            let last = levels.lastIndex { $0 > 0 } ?? 0
            widest = max(widest, last - first)
        }
        if widest <= 2 {
            exemption = .flat
        } else if norms.max() < 8 {
            exemption = .nearBlack
        } else {
            exemption = nil
        }
        // A nearly empty channel has a norm near 0; its few samples must not be amplified without limit.
        let divisors = norms.replacing(with: 1, where: norms .< 1)
        gains = exemption == nil ? SIMD3(repeating: norms.sum() / 3) / divisors : SIMD3(repeating: 1)
    }
}
