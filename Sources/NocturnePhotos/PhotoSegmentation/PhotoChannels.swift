import NocturneCore
import NocturneSystem

/// The channels of a photo for networks: values from 0 to 255 in single precision, as of nnU-Net's reader for photos.
extension PhotoSegmentationModel.Settings.Input {
    /// Samples of one row after the other are converted between two looks at the flag.
    private static var rowsAtOnce: Int { 256 }

    /// - Returns: `[channel][y][x]`: grey, or red, green and blue.
    /// - Throws: `AllocationError`, `CancelledError`.
    func planes(of image: RGBImage, flag: CancellationFlag) throws -> [FrozenVoxels<Float>] {
        try (0..<rawValue).map { channel in
            var plane = try VoxelBuffer<Float>(count: image.width * image.height)
            try plane.withUnsafeMutableBufferPointer { plane in
                try image.samples.withUnsafeBufferPointer { samples in
                    for first in stride(from: 0, to: plane.count, by: Self.rowsAtOnce * image.width) {
                        try flag.check()
                        for pixel in first..<min(first + Self.rowsAtOnce * image.width, plane.count) {
                            let place = 3 * pixel
                            plane[pixel] =
                                self == .grey
                                ? Self.grey(samples[place], samples[place + 1], samples[place + 2])
                                : Float(samples[place + channel])
                        }
                    }
                }
            }
            return plane.frozen()
        }
    }

    /// A whole number, as Pillow's conversion of RGB to L. Three equal samples give this sample.
    private static func grey(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> Float {
        // 0.299, 0.587 and 0.114 times 65536, whose sum is exactly 65536; 0x8000 rounds to the nearest.
        Float((Int(red) * 19595 + Int(green) * 38470 + Int(blue) * 7471 + 0x8000) >> 16)
    }
}
