package import NocturneJournal

extension Journal {
    /// The files recorded for each completed item that has any, by id.
    package func filesOfItems() throws -> [Int64: [ItemFile]] {
        let records = try records(after: 0, limit: .max)
        return Dictionary(uniqueKeysWithValues: records.map { ($0.item.id, $0.product.files) })
            .filter { !$0.value.isEmpty }
    }
}
