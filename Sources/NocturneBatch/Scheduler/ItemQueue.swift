import NocturneJournal
import NocturneSystem

/// The items that are to be processed, in order, in some 20 bytes of memory each, since there may be a million of them for
/// days: see ``FileBackedList``. The journal has what else is known of them.
package struct ItemQueue: Sendable {
    private var items = FileBackedList<PendingItem>()
    private var ids: [Int64] = []
    /// The places of the items, by their ids in ascending order.
    private var places: [Int32] = []

    /// - Parameter items: fewer than 2³¹, each id once.
    package init(_ items: some Sequence<PendingItem>) {
        for item in items {
            ids.append(item.id)
            self.items.append(item)
        }
        places = ids.indices.map(Int32.init)
        places.sort { ids[Int($0)] < ids[Int($1)] }
    }

    package var count: Int { ids.count }
    package var isEmpty: Bool { ids.isEmpty }

    /// The ids of the items from a place on.
    package func ids(from place: Int) -> ArraySlice<Int64> { ids[place...] }

    /// - Parameter place: in `0 ..< count`.
    package subscript(place: Int) -> PendingItem { items[place] }

    /// The item of an id; nil if it is not in the queue.
    package func item(_ id: Int64) -> PendingItem? {
        let place = places.prefixCount { ids[Int($0)] < id }
        guard place < places.count, ids[Int(places[place])] == id else { return nil }
        return self[Int(places[place])]
    }

    /// Those of some names that items have.
    package func names(among names: Set<String>) -> Set<String> {
        guard !names.isEmpty else { return [] }
        return Set(items.lazy.map(\.name).filter(names.contains))
    }
}

extension PendingItem: ByteRepresentable {
    /// The places of the fields.
    private enum Field { static let (numbers, model, name, inputs, edit) = (0, 1, 2, 3, 4) }

    package init(bytes: [UInt8]) {
        let fields = PackedFields(packed: bytes[...])
        var numbers = fields[Field.numbers]
        func number() -> Int { Int(truncatingIfNeeded: numbers.popNumber() ?? 0) }
        let (id, recipe, flags) = (Int64(number()), number(), number())
        let edit = fields[Field.edit]
        self.init(
            id: id,
            recipe: recipe,
            model: fields[text: Field.model],
            name: fields[text: Field.name],
            inputs: PackedStamps(bytes: Array(fields[Field.inputs])),
            suspect: flags & 1 != 0,
            edit: edit.isEmpty ? nil : LabelEdit(packed: edit).map { SharedValue(wrappedValue: $0) }
        )
        hasEarlierResult = flags & 2 != 0
    }

    package var bytes: [UInt8] {
        var numbers: [UInt8] = []
        let flags: UInt64 = (suspect ? 1 : 0) | (hasEarlierResult ? 2 : 0)
        for number in [UInt64(bitPattern: id), UInt64(recipe), flags] { numbers.append(number: number) }
        let fields: [[UInt8]] = [
            numbers, Array(model.utf8), Array(name.utf8), inputs.bytes, edit?.wrappedValue.packed ?? [],
        ]
        return Array(PackedFields(fields).packed)
    }
}

extension LabelEdit {
    var packed: [UInt8] { Array(PackedFields(list: [item, baseFingerprint, file, sha256, time]).packed) }

    init?(packed: ArraySlice<UInt8>) {
        let texts = PackedFields(packed: packed).texts
        guard texts.count == 5 else { return nil }
        self.init(item: texts[0], baseFingerprint: texts[1], file: texts[2], sha256: texts[3], time: texts[4])
    }
}
