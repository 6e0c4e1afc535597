internal import CPhoto
import NocturneSystem

extension PhotoReader {
    /// How decoded rows become the upright picture: processed in blocks, reduced if requested, each row copied to its
    /// position.
    struct RowPlan {
        // After rotation, they become pieces of rows of three whole cache lines.
        private static let blockRows = 64

        /// The decoder's own output size.
        private let width: Int
        private let height: Int
        /// The reduction that remains after the decoder.
        private let factor: Int
        private let orientation: Int

        init(facts: PhotoFacts, own: Int) {
            width = (facts.storedWidth + own - 1) / own
            height = (facts.storedHeight + own - 1) / own
            factor = facts.scaleDenominator / own
            orientation = facts.orientation
        }

        /// The memory for a picture of that width.
        static func bytes(width: Int) -> Int { width * 3 * blockRows * 2 + width * 24 }

        private var reducedWidth: Int { (width + factor - 1) / factor }
        private var reducedHeight: Int { (height + factor - 1) / factor }

        /// Decodes everything; `samples` holds the upright picture.
        func decode(
            _ source: any PhotoSource,
            into samples: UnsafeMutableBufferPointer<UInt8>,
            flag: CancellationFlag
        ) -> cphoto_code {
            guard let upright = samples.baseAddress, samples.count == reducedWidth * reducedHeight * 3 else {
                return CPHOTO_CORRUPT
            }
            if factor > 1 { return decodeReduced(source, upright, flag) }
            let stored = cphoto_stored(width: width, height: height, orientation: Int32(orientation))
            var block = [UInt8](repeating: 0, count: orientation == 1 ? 0 : width * 3 * Self.blockRows)
            for row in stride(from: 0, to: height, by: Self.blockRows) {
                if flag.isCancelled { return CPHOTO_STOPPED }
                let count = min(Self.blockRows, height - row)
                if orientation == 1 {
                    // Rows are decoded directly to their final position.
                    let code = source.read(count, into: upright + row * width * 3)
                    if code != CPHOTO_OK { return code }
                } else {
                    let code = block.withUnsafeMutableBufferPointer { source.read(count, into: $0.baseAddress!) }
                    if code != CPHOTO_OK { return code }
                    cphoto_place_rows(block, row, count, stored, upright)
                }
            }
            return CPHOTO_OK
        }

        private func decodeReduced(
            _ source: any PhotoSource,
            _ upright: UnsafeMutablePointer<UInt8>,
            _ flag: CancellationFlag
        ) -> cphoto_code {
            let stored = cphoto_stored(width: reducedWidth, height: reducedHeight, orientation: Int32(orientation))
            var line = [UInt8](repeating: 0, count: width * 3)
            var mean = [UInt8](repeating: 0, count: reducedWidth * 3)
            var sums = [UInt64](repeating: 0, count: reducedWidth * 3)
            for row in 0..<reducedHeight {
                if flag.isCancelled { return CPHOTO_STOPPED }
                let count = min(factor, height - row * factor)
                // The last row of the result may stand for fewer stored ones; the mean is over those that there are.
                for _ in 0..<count {
                    let code = line.withUnsafeMutableBufferPointer { source.read(1, into: $0.baseAddress!) }
                    if code != CPHOTO_OK { return code }
                    cphoto_add_row(line, width, factor, &sums)
                }
                cphoto_mean_row(&sums, width, factor, count, &mean)
                cphoto_place_rows(mean, row, 1, stored, upright)
            }
            return CPHOTO_OK
        }
    }
}
