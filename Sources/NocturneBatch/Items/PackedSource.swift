import NocturneSystem
import Synchronization

/// What a recipe stores of an item, in little memory, for the time in which there may be a million items.
///
/// The sources of one model are much alike: each is compressed with the first one of its model and its own path as dictionary,
/// and takes some 50 bytes, or for a series of hundreds of files some kilobytes.
package enum PackedSource {
    /// The index of the dictionary plus 1, or 0 for a text as it is; the length of the text; the text or a stream.
    package static func bytes(_ text: String, path: String, model: String) -> [UInt8] {
        let plain = Array(text.utf8)
        var packed: [UInt8] = []
        if plain.count >= leastBytes, let dictionary = dictionaries.withLock({ $0.index(for: model, text: plain) }),
            let stream = ZlibStream.deflated(plain, like: self.dictionary(dictionary, path)),
            stream.count < plain.count
        {
            packed.append(number: UInt64(dictionary + 1))
            packed.append(number: UInt64(plain.count))
            return packed + stream
        }
        packed.append(number: 0)
        return packed + plain
    }

    /// The same text, bit by bit. Takes a microsecond, or some 0.1 ms for 25 kB.
    package static func text(_ packed: ArraySlice<UInt8>, path: String) -> String {
        var rest = packed
        guard let dictionary = rest.popNumber() else { return "" }
        guard dictionary > 0 else { return String(decoding: rest, as: UTF8.self) }
        guard let length = rest.popNumber(),
            let bytes = ZlibStream.inflated(
                Array(rest),
                expected: Int(length),
                like: self.dictionary(Int(dictionary - 1), path)
            )
        else { preconditionFailure("a source in memory is damaged") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Shorter texts stay as they are: little would be gained.
    private static let leastBytes = 64

    // MARK: Dictionaries

    private struct Dictionaries {
        private(set) var texts: [[UInt8]] = []
        private var places: [String: Int] = [:]
        /// A process has few models; the limits are for tests that have many.
        private static let (most, mostBytes) = (1024, 2048)

        /// The first text of a model becomes its dictionary. Nil when there are too many.
        mutating func index(for model: String, text: [UInt8]) -> Int? {
            if let place = places[model] { return place }
            guard texts.count < Self.most else { return nil }
            texts.append(Array(text.prefix(Self.mostBytes)))
            places[model] = texts.count - 1
            return texts.count - 1
        }
    }

    /// They do not change what a text is, only how many bytes it takes.
    private static let dictionaries = Mutex(Dictionaries())

    private static func dictionary(_ index: Int, _ path: String) -> [UInt8] {
        dictionaries.withLock { $0.texts[index] } + path.utf8
    }
}
