import NocturneBatch
import NocturneSystem

extension PlanReport.Item: ByteRepresentable {
    /// The places of the fields.
    private enum Field { static let (item, source, state, flags, problem, numbers) = (0, 1, 2, 3, 4, 5) }

    package init(bytes: [UInt8]) {
        let fields = PackedFields(packed: bytes[...])
        let flags = fields[Field.flags].first ?? 0
        var numbers = fields[Field.numbers]
        func number(_ flag: UInt8) -> UInt64? { flags & flag == 0 ? nil : numbers.popNumber() }
        self.init(
            item: fields[text: Field.item],
            source: fields[text: Field.source],
            state: RemainingWork(rawValue: fields[text: Field.state]) ?? .pending,
            peakBytes: number(4).map { Int(truncatingIfNeeded: $0) },
            tiles: number(8).map { Int(truncatingIfNeeded: $0) },
            seconds: number(16).map { Double(bitPattern: $0) },
            fits: flags & 1 != 0,
            lean: flags & 2 != 0,
            problem: fields[list: Field.problem].first
        )
    }

    package var bytes: [UInt8] {
        var flags: UInt8 = (fits ? 1 : 0) | (lean ? 2 : 0)
        var numbers: [UInt8] = []
        let optional: [(UInt8, UInt64?)] = [
            (4, peakBytes.map { UInt64(truncatingIfNeeded: $0) }), (8, tiles.map { UInt64(truncatingIfNeeded: $0) }),
            (16, seconds.map(\.bitPattern)),
        ]
        for case (let flag, let number?) in optional {
            flags |= flag
            numbers.append(number: number)
        }
        let fields: [[UInt8]] = [
            Array(item.utf8), Array(source.utf8), Array(state.rawValue.utf8), [flags],
            Array(PackedFields(list: problem.map { [$0] } ?? []).packed), numbers,
        ]
        return Array(PackedFields(fields).packed)
    }
}
