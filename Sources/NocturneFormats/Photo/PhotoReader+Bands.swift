internal import CPhoto
public import NocturneCore
public import NocturneSystem

extension PhotoReader {
    /// Some rows of a part of a picture, starting at the left edge of the part, 3 bytes per pixel. Valid only during the
    /// call.
    public struct Band: ~Copyable {
        /// The start of the first row.
        public let samples: UnsafePointer<UInt8>
        /// Number of bytes from one row to the next.
        public let stride: Int
        /// Rows of the upright picture.
        public let rows: Range<Int>
    }
}

extension PhotoReader {
    /// Rows of a band, which is decoded and passed on while it is in the cache.
    static let bandRows = 16

    /// Decodes a picture and passes on the rows of a part of it, from the top, without keeping the picture.
    ///
    /// The pixels are those of ``read(at:limits:flag:)``, and the file is decoded as far as necessary to be certain
    /// that none of it is missing. Of a JPEG only the columns of the part, and a few on either side, are decoded to
    /// pixels. A picture that must be rotated or reduced is decoded completely first, and passed on as one band.
    ///
    /// Needs ``PhotoFacts/predictedBandBytes``.
    /// - Parameter part: chooses the part once the header is read; not empty, and inside the upright picture.
    /// - Throws: ``PhotoError``, `CancelledError`, and what `part` and `take` throw.
    public static func readBands(
        at path: String,
        limits: PhotoLimits = PhotoLimits(),
        flag: CancellationFlag = CancellationFlag(),
        part choose: (PhotoFacts) throws -> PixelBox,
        _ take: (borrowing Band) throws -> Void
    ) throws -> PhotoFacts {
        let source = try open(path, limits)
        var facts = try checkedFacts(of: source, path: path, limits: limits)
        try flag.check()
        let part = try choose(facts)
        precondition(
            part.width > 0 && part.height > 0 && part.x >= 0 && part.y >= 0
                && part.x + part.width <= facts.uprightWidth && part.y + part.height <= facts.uprightHeight,
            "a part outside the picture"
        )
        guard facts.orientation == 1, facts.scaleDenominator == 1 else {
            let photo = try read(at: path, limits: limits, flag: flag)
            try whole(photo, part, take)
            return photo.facts
        }
        try check(source.start(denominator: 1, memory: limits.bytes, flag: flag), source, path)
        // A JPEG decoder keeps whole blocks: more columns may come than were asked for.
        let given = source.keepColumns(part.x..<part.x + part.width)
        let rowBytes = given.count * 3
        let offset = (part.x - given.lowerBound) * 3
        var block = [UInt8](repeating: 0, count: rowBytes * bandRows)
        let height = facts.storedHeight
        // To the last row, also below the part: only then is it certain that no pixel of the file is missing.
        for row in stride(from: 0, to: height, by: bandRows) {
            try flag.check()
            let rows = row..<min(row + bandRows, height)
            let code = withExtendedLifetime(flag) {
                block.withUnsafeMutableBufferPointer { source.read(rows.count, into: $0.baseAddress!) }
            }
            try check(code, source, path)
            let wanted = rows.clamped(to: part.y..<part.y + part.height)
            guard !wanted.isEmpty else { continue }
            try block.withUnsafeBufferPointer { block in
                let start = (wanted.lowerBound - row) * rowBytes + offset
                try take(
                    Band(
                        samples: block.baseAddress! + start,
                        stride: rowBytes,
                        rows: wanted
                    )
                )
            }
        }
        facts.notes += source.notes
        return facts
    }

    /// - Throws: ``PhotoError``; `CancelledError` where the decoder stopped because of the flag.
    static func check(_ code: cphoto_code, _ source: any PhotoSource, _ path: String) throws {
        if code == CPHOTO_STOPPED { throw CancelledError() }
        try PhotoError.check(
            code,
            source.format,
            path: path,
            message: source.message,
            systemCode: source.systemCode
        )
    }

    private static func whole(_ photo: Photo, _ part: PixelBox, _ take: (borrowing Band) throws -> Void) throws {
        let width = photo.image.width
        try photo.image.samples.withUnsafeBufferPointer { samples in
            let start = (part.y * width + part.x) * 3
            try take(
                Band(samples: samples.baseAddress! + start, stride: width * 3, rows: part.y..<part.y + part.height)
            )
        }
    }
}
