package import NocturneJournal

extension Journal {
    /// The files recorded for each completed item that has any, by id.
    package func filesOfItems() throws -> [Int64: [ItemFile]] {
        let records = try records(after: 0, limit: .max)
        return Dictionary(uniqueKeysWithValues: try records.map { ($0.item.id, try $0.files()) })
            .filter { !$0.value.isEmpty }
    }
}
