import NocturneJournal
import NocturneSystem

extension WorkPlanner.Decision: ByteRepresentable {
    /// The places of the fields.
    private enum Field {
        static let (item, name, numbers, reason, note, edit) = (0, 1, 2, 3, 4, 5)
    }

    package init(bytes: [UInt8]) {
        let fields = PackedFields(packed: bytes[...])
        var numbers = fields[Field.numbers]
        func number() -> Int { Int(truncatingIfNeeded: numbers.popNumber() ?? 0) }
        self.init(
            DiscoveredItem(bytes: Array(fields[Field.item])),
            name: fields[text: Field.name],
            state: ItemState.allCases[number()],
            reason: ItemReason(packed: fields[list: Field.reason]),
            crashes: number()
        )
        let flags = number()
        (work, suspect, reused) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
        note = fields[list: Field.note].first
        let edit = fields[Field.edit]
        if !edit.isEmpty { self.edit = LabelEdit(packed: edit).map { SharedValue(wrappedValue: $0) } }
    }

    package var bytes: [UInt8] {
        var numbers: [UInt8] = []
        numbers.append(number: UInt64(ItemState.allCases.firstIndex(of: state) ?? 0))
        numbers.append(number: UInt64(truncatingIfNeeded: crashes))
        numbers.append(number: (work ? 1 : 0) | (suspect ? 2 : 0) | (reused ? 4 : 0))
        let fields: [[UInt8]] = [
            item.bytes, Array(name.utf8), numbers, Array(reason?.packed.packed ?? []),
            Array(PackedFields(list: note.map { [$0] } ?? []).packed),
            edit?.wrappedValue.packed ?? [],
        ]
        return Array(PackedFields(fields).packed)
    }
}
