extension LabelMorphology {
    /// Places of some labels in a list, found by their values in constant time.
    struct Slots: Sendable {
        let values: [UInt16]
        /// For each value, one more than its place; 0 for others.
        private let table: [UInt16]

        /// - Parameter values: ascending, without repetition and background.
        init(_ values: [UInt16]) {
            self.values = values
            var table = [UInt16](repeating: 0, count: Int(values.last ?? 0) + 1)
            for (slot, value) in values.enumerated() { table[Int(value)] = UInt16(slot + 1) }
            self.table = table
        }

        func slot(of value: UInt16) -> Int? {
            let value = Int(value)
            guard value < table.count, table[value] > 0 else { return nil }
            return Int(table[value]) - 1
        }

        func contains(_ value: UInt16) -> Bool { slot(of: value) != nil }
    }
}
