import NocturneJournal
import NocturneSystem

/// The items that are to be processed, in order, in little memory: names, models and the stamps of files are in few buffers, some
/// hundred bytes an item, since there may be a million of them for days. The journal has the rest.
package struct ItemQueue: Sendable {
    private var ids: [Int64] = []
    /// Where the bytes of each item end in their part.
    private var ends: [Int32] = []
    /// Of so many items each, since one buffer would be copied whenever it grows.
    private var parts: [[UInt8]] = []
    private var models: [String] = []
    private var edits: [Int64: SharedValue<LabelEdit>] = [:]
    /// The places of the items, by their ids in ascending order.
    private var places: [Int32] = []

    /// - Parameter items: fewer than 2³¹, each id once; the files of 1,024 of them have less than 2 GiB of paths.
    package init(_ items: some Sequence<PendingItem>) {
        var modelIndices: [String: Int] = [:]
        for item in items {
            let model = modelIndices[item.model] ?? models.count
            if model == models.count {
                modelIndices[item.model] = model
                models.append(item.model)
            }
            if ids.count.isMultiple(of: Self.itemsInPart) { parts.append([]) }
            Self.append(item, model: model, to: &parts[parts.count - 1])
            ends.append(Int32(parts[parts.count - 1].count))
            ids.append(item.id)
            edits[item.id] = item.edit
        }
        places = ids.indices.map(Int32.init)
        places.sort { ids[Int($0)] < ids[Int($1)] }
    }

    private static let itemsInPart = 1024

    /// Recipe, model and flags, the name, ended by a NUL, and the stamps.
    private static func append(_ item: PendingItem, model: Int, to bytes: inout [UInt8]) {
        for number in [Int32(item.recipe), Int32(model)] { withUnsafeBytes(of: number) { bytes += $0 } }
        bytes.append((item.suspect ? 1 : 0) | (item.hasEarlierResult ? 2 : 0))
        bytes += item.name.utf8
        bytes.append(0)
        bytes += item.inputs.bytes
    }

    package var count: Int { ids.count }
    package var isEmpty: Bool { ids.isEmpty }

    /// The ids of the items from a place on.
    package func ids(from place: Int) -> ArraySlice<Int64> { ids[place...] }

    /// - Parameter place: in `0 ..< count`.
    package subscript(place: Int) -> PendingItem {
        let start = place.isMultiple(of: Self.itemsInPart) ? 0 : Int(ends[place - 1])
        var rest = parts[place / Self.itemsInPart][start..<Int(ends[place])]
        func number() -> Int {
            let value = rest.withUnsafeBytes { Int($0.loadUnaligned(as: Int32.self)) }
            rest = rest.dropFirst(4)
            return value
        }
        let (recipe, model) = (number(), number())
        let flags = rest.removeFirst()
        let name = rest.prefix { $0 != 0 }
        var item = PendingItem(
            id: ids[place],
            recipe: recipe,
            model: models[model],
            name: String(decoding: name, as: UTF8.self),
            inputs: PackedStamps(bytes: Array(rest[name.endIndex...].dropFirst())),
            suspect: flags & 1 != 0,
            edit: edits[ids[place]]
        )
        item.hasEarlierResult = flags & 2 != 0
        return item
    }

    /// The item of an id; nil if it is not in the queue.
    package func item(_ id: Int64) -> PendingItem? {
        let place = places.prefixCount { ids[Int($0)] < id }
        guard place < places.count, ids[Int(places[place])] == id else { return nil }
        return self[Int(places[place])]
    }

    /// Those of some names that items have.
    package func names(among names: Set<String>) -> Set<String> {
        guard !names.isEmpty else { return [] }
        return Set((0..<count).lazy.map { self[$0].name }.filter(names.contains))
    }
}
