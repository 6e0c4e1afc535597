internal import CPhoto
public import NocturneCore
public import NocturneSystem

extension TIFFStackReader {
    /// The values of a TIFF whose pages are the slices of a volume.
    public struct Header: Hashable, Sendable {
        /// Columns, rows and pages.
        public let shape: VolumeShape
        /// The type of the stored numbers.
        public let type: StoredVoxelType

        /// - Parameters:
        ///   - bits: of a sample: 8 to 64.
        ///   - kind: TIFF's SampleFormat: 1 for unsigned, 2 for signed and 3 for floating point numbers.
        static func type(bits: Int, kind: Int) -> StoredVoxelType? {
            switch (kind, bits) {
            case (1, 8): .uint8
            case (1, 16): .uint16
            case (1, 32): .uint32
            case (1, 64): .uint64
            case (2, 8): .int8
            case (2, 16): .int16
            case (2, 32): .int32
            case (2, 64): .int64
            case (3, 32): .float32
            case (3, 64): .float64
            default: nil
            }
        }
    }

    /// The axes of the pages of a TIFF by its ImageDescription; they may be more than the slices of one volume.
    ///
    /// tifffile, ImageJ and OME store the axes there. nnU-Net takes files of which tifffile makes an array of three axes.
    struct Description {
        /// The number of pages along each axis.
        let axes: [Int]

        /// Nil for a description without axes.
        init?(_ text: String) {
            let text = text.prefix(64 << 10)
            if text.hasPrefix("ImageJ=") {
                let values = text.split(whereSeparator: \.isNewline).map { $0.split(separator: "=", maxSplits: 1) }
                axes = ["channels", "slices", "frames"].compactMap { name in
                    values.first { $0.first == Substring(name) }.flatMap { $0.count == 2 ? Int($0[1]) : nil }
                }.filter { $0 > 1 }
            } else if text.contains("<OME ") {
                axes = ["SizeC", "SizeZ", "SizeT"].compactMap { Self.attribute($0, in: text) }.filter { $0 > 1 }
            } else if text.hasPrefix("{\"shape\": ["), let end = text.firstIndex(of: "]") {
                let list = text[..<end].dropFirst("{\"shape\": [".count).split(separator: ",")
                let numbers = list.compactMap { Int($0.filter { $0 != " " }) }
                guard numbers.count == list.count, numbers.count >= 2 else { return nil }
                // The last two are rows and columns.
                axes = Array(numbers.dropLast(2))
            } else {
                return nil
            }
        }

        private static func attribute(_ name: String, in text: Substring) -> Int? {
            guard let range = text.firstRange(of: " \(name)=\"") else { return nil }
            return Int(text[range.upperBound...].prefix { $0 != "\"" })
        }

        /// Why the pages are not the slices of one volume; nil if they are.
        func problem(pages: Int) -> String? {
            if axes.count > 1 {
                let product = axes.map(String.init).joined(separator: "×")
                return "its description has pages along \(axes.count) axes (\(product)); one volume has slices alone"
            }
            if let stated = axes.first, stated != pages {
                return "its description states \(stated) slices, it has \(pages) pages"
            }
            return nil
        }
    }
}

/// Why a TIFF could not be read as a volume, or written.
public typealias TIFFStackError = FileFormatError<TIFFStackErrorCode>

/// The kind of a ``TIFFStackError``, with a description.
public enum TIFFStackErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of TIFFs as volumes; as photos they have `photo`.
    public static let domain = "tiff"

    /// The content is not TIFF.
    case notTIFF
    /// The system could not open or read the file.
    case unreadable
    /// Damaged or truncated, or a header that the file cannot fulfil.
    case corrupt
    /// Colours or channels within a page, pages of different sizes or types, other types of samples, or a compression that
    /// is not supported.
    case unsupported
    /// A single page, or pages along more than one axis, such as channels and slices.
    case notThreeDimensional
    /// The file with the spacing cannot be read, or does not have three numbers above 0.
    case invalidSpacing
    /// The system could not create or write the file.
    case cannotWrite
    /// There is not enough memory.
    case outOfMemory
}

extension FileFormatError<TIFFStackErrorCode> {
    /// - Throws: the error of a decoder's code, with its message; nothing for `CPHOTO_OK`.
    static func check(
        _ code: cphoto_code,
        path: String,
        place: String = "",
        message: String,
        systemCode: Int32
    ) throws(TIFFStackError) {
        switch code {
        case CPHOTO_OK: return
        case CPHOTO_NOT_OPENED:
            throw TIFFStackError(.unreadable, path: path, "cannot be opened: \(message)", systemCode: systemCode)
        case CPHOTO_NOT_READ:
            throw TIFFStackError(.unreadable, path: path, "\(place)cannot be read: \(message)", systemCode: systemCode)
        case CPHOTO_UNSUPPORTED: throw TIFFStackError(.unsupported, path: path, place + message)
        case CPHOTO_NO_MEMORY: throw TIFFStackError(.outOfMemory, path: path, "no memory to read a page")
        default: throw TIFFStackError(.corrupt, path: path, "\(place)is damaged: \(message)")
        }
    }
}
