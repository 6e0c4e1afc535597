package import NocturneJournal
package import NocturneSystem

/// The items of a journal, found by their keys, in some 20 bytes of memory each: see ``FileBackedList``.
package struct KnownItems: Sendable {
    /// In the order of discovery.
    package let all: FileBackedList<JournalItem>
    /// The hashes of the keys, in ascending order, and the places of their items.
    private let hashes: [UInt64]
    private let places: [Int32]

    /// - Parameter items: fewer than 2³¹, each key once.
    package init(_ items: FileBackedList<JournalItem> = []) {
        all = items
        let unsorted = items.map { TextHash.of($0.key) }
        places = unsorted.indices.map(Int32.init).sorted { unsorted[Int($0)] < unsorted[Int($1)] }
        hashes = places.map { unsorted[Int($0)] }
    }

    package var isEmpty: Bool { all.isEmpty }

    /// The item with a key, in any Unicode form; nil if there is none.
    package subscript(key: String) -> JournalItem? { place(of: key).map { all[$0] } }

    /// The place of the item with a key in ``all``.
    package func place(of key: String) -> Int? {
        let hash = TextHash.of(key)
        var index = hashes.prefixCount { $0 < hash }
        while index < hashes.count, hashes[index] == hash {
            let place = Int(places[index])
            if all[place].key == key { return place }
            index += 1
        }
        return nil
    }
}
