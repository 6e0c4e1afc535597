import Foundation

/// A value that is one buffer of bytes, as a ``FileBackedList`` keeps it.
public protocol ByteRepresentable: Sendable {
    /// - Parameter bytes: those of an equal value of the same process.
    init(bytes: [UInt8])
    var bytes: [UInt8] { get }
}

extension String: ByteRepresentable {
    public init(bytes: [UInt8]) { self.init(decoding: bytes, as: UTF8.self) }
    public var bytes: [UInt8] { Array(utf8) }
}

/// A list of any length in little memory: 8 bytes an element, and at most a few megabytes. The elements themselves are in a
/// temporary file without a name, in the folder that `TMPDIR` names or else in `/var/tmp`, as soon as they take more than a
/// megabyte.
///
/// For what there may be a million of. Each element is read when it is asked for, some microseconds at random places and
/// less than one in order. An element that is replaced stays in the file, and so do removed ones: copies of a list share
/// them. Where the file cannot be written, its elements stay in memory. When it cannot be read any more, the process ends, as
/// it would when swapped memory cannot be read.
public struct FileBackedList<Element: ByteRepresentable>: Sendable {
    private let storage: TemporaryBytes
    private var places: [TemporaryBytes.Place] = []

    public init() { self.init(folder: TemporaryFiles.folder) }

    /// - Parameter folder: of the file.
    package init(folder: String) { storage = TemporaryBytes(folder: folder) }

    public init(_ elements: some Sequence<Element>) {
        self.init()
        append(contentsOf: elements)
    }

    public mutating func append(_ element: Element) { places.append(storage.append(element.bytes)) }

    public mutating func append(contentsOf elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    /// The elements of a range, read in order.
    public func elements(_ range: Range<Int>) -> [Element] {
        var cursor = Cursor(range)
        return range.map { _ in cursor.next(of: self) }.compactMap(\.self)
    }

    public mutating func removeAll(where isRemoved: (Element) throws -> Bool) rethrows {
        var kept: [TemporaryBytes.Place] = []
        var window = TemporaryBytes.Window()
        for place in places where try !isRemoved(Element(bytes: storage.record(at: place, &window))) {
            kept.append(place)
        }
        places = kept
    }

    /// Sorts by a text of each element; those with equal ones keep their order. Reads a sorted list once, and another one as
    /// often as its ascending runs can be merged in pairs.
    public mutating func sort(by key: (Element) -> String) {
        var runs = ascendingRuns(key)
        while runs.count > 1 {
            var merged: [TemporaryBytes.Place] = []
            merged.reserveCapacity(places.count)
            var longer: [Range<Int>] = []
            for place in stride(from: 0, to: runs.count, by: 2) {
                let first = runs[place]
                let second = place + 1 < runs.count ? runs[place + 1] : first.upperBound..<first.upperBound
                merge(first, second, key, into: &merged)
                longer.append(first.lowerBound..<second.upperBound)
            }
            (places, runs) = (merged, longer)
        }
    }

    private func ascendingRuns(_ key: (Element) -> String) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var (start, last) = (0, "")
        for (place, element) in enumerated() {
            let text = key(element)
            if place > start, text < last {
                runs.append(start..<place)
                start = place
            }
            last = text
        }
        return isEmpty ? [] : runs + [start..<count]
    }

    private func merge(
        _ first: Range<Int>,
        _ second: Range<Int>,
        _ key: (Element) -> String,
        into merged: inout [TemporaryBytes.Place]
    ) {
        var (left, right) = (Cursor(first), Cursor(second))
        func text(_ cursor: inout Cursor) -> String? { cursor.next(of: self).map(key) }
        var (leftText, rightText) = (text(&left), text(&right))
        while let own = leftText {
            if let other = rightText, other < own {
                merged.append(places[right.last])
                rightText = text(&right)
            } else {
                merged.append(places[left.last])
                leftText = text(&left)
            }
        }
        if rightText != nil { merged += places[right.last..<second.upperBound] }
    }
}

extension FileBackedList: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { places.count }

    public subscript(index: Int) -> Element {
        get {
            var window = TemporaryBytes.Window()
            return Element(bytes: storage.record(at: places[index], &window))
        }
        set { places[index] = storage.append(newValue.bytes) }
    }

    public struct Iterator: IteratorProtocol {
        fileprivate let list: FileBackedList
        fileprivate var cursor: Cursor

        public mutating func next() -> Element? { cursor.next(of: list) }
    }

    public func makeIterator() -> Iterator { Iterator(list: self, cursor: Cursor(places.indices)) }

    /// Reads one element after the other.
    fileprivate struct Cursor {
        private var rest: Range<Int>
        private var window = TemporaryBytes.Window()

        init(_ range: Range<Int>) { rest = range }

        /// The index of the element that was read last.
        var last: Int { rest.lowerBound - 1 }

        mutating func next(of list: FileBackedList) -> Element? {
            guard let index = rest.popFirst() else { return nil }
            return Element(bytes: list.storage.record(at: list.places[index], &window))
        }
    }
}

extension FileBackedList: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension FileBackedList: Encodable where Element: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in self { try container.encode(element) }
    }
}

/// Where temporary files are made.
enum TemporaryFiles {
    /// As other programs of Unix choose it. `/tmp` is often in memory.
    static let folder: String = {
        let named = ProcessInfo.processInfo.environment["TMPDIR"].map { [$0] } ?? []
        return (named + ["/var/tmp"]).first { FileSystem.kind($0) == .folder } ?? "/tmp"
    }()
}
