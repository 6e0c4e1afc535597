internal import NocturneCore
import NocturneSystem

/// The lines of text at the start of an NRRD or MetaImage file.
struct TextHeader {
    /// Without their ends.
    let lines: [String]
    /// The offset of what follows the last line.
    let byteCount: Int
    /// Whether the line was found that ends the header; false at the end of the file.
    let isEnded: Bool

    /// Headers of segmentations with hundreds of labels have some hundred KiB.
    private static let maximumBytes = 1 << 20

    /// - Parameters:
    ///   - isHeader: whether the first line is that of the format.
    ///   - isLast: whether a line ends the header.
    init(
        of path: String,
        _ format: VolumeFileFormat,
        isHeader: (String) -> Bool,
        isLast: (String) -> Bool
    ) throws(VolumeFileError) {
        let source = try VolumeByteSource(path: path, .none)
        var (bytes, lines, begin, isEnded, isWhole) = ([UInt8](), [String](), 0, false, false)
        // 16 KiB at a time: most headers end in the first piece, and behind them come voxels that need not be split into lines.
        while !isEnded, !isWhole, bytes.count < Self.maximumBytes {
            var searched = bytes.count
            let piece = try source.read(count: 16 << 10)
            isWhole = piece.isEmpty
            bytes += piece
            while !isEnded, let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Self.line(bytes[begin..<end])
                lines.append(line)
                (begin, searched) = (end + 1, end + 1)
                guard lines.count > 1 || isHeader(line) else { throw Self.foreign(path, format) }
                isEnded = isLast(line)
            }
        }
        if !isEnded, isWhole, begin < bytes.count {
            lines.append(Self.line(bytes[begin...]))
            begin = bytes.count
        }
        guard !bytes.isEmpty else { throw VolumeFileError(.truncated, path: path, "the file is empty") }
        guard let first = lines.first, isHeader(first) else { throw Self.foreign(path, format) }
        guard isEnded || isWhole else {
            throw VolumeFileError(
                .invalidHeader,
                path: path,
                "the header does not end within \(Self.maximumBytes) bytes"
            )
        }
        (self.lines, self.isEnded, byteCount) = (lines, isEnded, begin)
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
    }

    private static func foreign(_ path: String, _ format: VolumeFileFormat) -> VolumeFileError {
        VolumeFileError(.notNIfTI, path: path, "not a file in \(format.title): it does not begin with such a header")
    }

    /// The fields of a text header, by name in lower case. Errors show no text of a header: it may name a patient.
    struct Fields {
        let path: String
        private var values: [String: String] = [:]

        init(path: String) { self.path = path }

        mutating func add(_ name: some StringProtocol, _ value: some StringProtocol) throws(VolumeFileError) {
            guard values.updateValue(value.trimmed, forKey: name.trimmed.lowercased()) == nil else {
                throw VolumeFileError(.invalidHeader, path: path, "a field of the header occurs twice")
            }
        }

        /// The value of the first of these fields that there is.
        subscript(_ names: String...) -> String? { names.lazy.compactMap { values[$0] }.first }

        func required(_ name: String) throws(VolumeFileError) -> String {
            guard let value = values[name] else { throw invalid("has no field \"\(name)\"") }
            return value
        }

        /// The number of the first of these fields that there is; nil without one.
        func integer(_ names: String...) throws(VolumeFileError) -> Int? {
            guard let name = names.first(where: { values[$0] != nil }), let value = values[name] else { return nil }
            guard let number = Int(value) else { throw invalid("has no whole number in the field \"\(name)\"") }
            return number
        }

        /// The numbers of the first of these fields that there is; nil without one.
        func numbers(_ names: String..., count: Int) throws(VolumeFileError) -> [Double]? {
            guard let name = names.first(where: { values[$0] != nil }), let value = values[name] else { return nil }
            let parts = value.split(whereSeparator: \.isWhitespace)
            let numbers = parts.compactMap { Double($0) }
            guard parts.count == count, numbers.count == count else {
                throw invalid("does not have \(count) numbers in the field \"\(name)\"")
            }
            return numbers
        }

        /// - Throws: ``VolumeFileError`` unless there are three positive sizes of a volume.
        func shape(_ name: String) throws(VolumeFileError) -> VolumeShape {
            let parts = try required(name).split(whereSeparator: \.isWhitespace)
            let sizes = parts.compactMap { Int($0) }
            guard parts.count == 3, sizes.count == 3 else {
                throw invalid("does not have 3 whole numbers in the field \"\(name)\"")
            }
            let text = sizes.map(String.init).joined(separator: "×")
            guard let shape = VolumeShape(validating: sizes[0], y: sizes[1], z: sizes[2]) else {
                throw VolumeFileError(
                    .invalidDimensions,
                    path: path,
                    "the dimensions \(text) are not those of a volume"
                )
            }
            return shape
        }

        func invalid(_ fact: String) -> VolumeFileError {
            VolumeFileError(.invalidHeader, path: path, "the header \(fact)")
        }

        func unsupported(_ fact: String) -> VolumeFileError { VolumeFileError(.unsupportedStorage, path: path, fact) }
    }
}

extension StringProtocol {
    /// Without spaces at its ends.
    var trimmed: String {
        String(trimmingPrefix(while: \.isWhitespace).reversed().trimmingPrefix(while: \.isWhitespace).reversed())
    }
}
