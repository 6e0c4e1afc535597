import NocturneSystem

/// A text in little memory, such as the paths of a series' hundreds of files, for the time in which thousands of items are
/// planned.
package struct CompressedText: Sendable, Hashable {
    private enum Form: Hashable {
        case plain(String)
        /// A zlib stream, and the length of the text in bytes.
        case deflated([UInt8], length: Int)
    }

    private let form: Form

    /// Shorter texts stay as they are: little would be gained.
    static let leastBytes = 1024

    package init(_ text: String) {
        form = Self.deflated(text).map { .deflated($0, length: text.utf8.count) } ?? .plain(text)
    }

    /// The same text, bit by bit. Takes some 0.1 ms for 25 kB.
    package var text: String {
        switch form {
        case .plain(let text): return text
        case .deflated(let stream, let length):
            guard let bytes = ZlibStream.inflated(stream, expected: length) else {
                preconditionFailure("a text in memory is damaged")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Bytes in memory, without what every value has.
    package var byteCount: Int {
        switch form {
        case .plain(let text): text.utf8.count
        case .deflated(let stream, _): stream.count
        }
    }

    /// Nil for a text that is short or does not become smaller, and when there is no memory.
    private static func deflated(_ text: String) -> [UInt8]? {
        guard text.utf8.count >= leastBytes else { return nil }
        let bytes = Array(text.utf8)
        // The fastest level: paths differ in digits only.
        guard let stream = ZlibStream.deflated(bytes, level: 1), stream.count < bytes.count else { return nil }
        return stream.withoutSpareCapacity
    }
}

extension [UInt8] {
    /// A copy that takes no more memory than its bytes.
    var withoutSpareCapacity: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { target, count in
            _ = target.initialize(from: self)
            count = self.count
        }
    }
}
