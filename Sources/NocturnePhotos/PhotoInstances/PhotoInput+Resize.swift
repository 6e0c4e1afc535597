import NocturneCore
import NocturneNumerics
import NocturnePostprocess
import NocturneSystem

extension PhotoInput.Resampling {
    /// The photo in the size of its part of the network's input.
    /// - Throws: `NumericsError`, `CancelledError`.
    func resize(_ image: RGBImage, to content: PixelBox, flag: CancellationFlag) throws -> RGBImage {
        switch self {
        case .antialiased:
            try PillowResize.bilinear(image, width: content.width, height: content.height, flag: flag)
        case .bilinear: try BilinearResize.resize(image, width: content.width, height: content.height, flag: flag)
        }
    }
}
