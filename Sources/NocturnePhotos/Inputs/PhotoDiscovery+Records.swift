import NocturneBatch
import NocturneRecipeSupport
import NocturneSystem

extension PhotoDiscovery {
    /// An item of every picture for every reader. Each stores a ``PhotoRecord``.
    func records(for readers: [Reader], _ request: DiscoveryRequest) throws -> Discovery {
        let (files, rest) = try scannedFiles(request)
        var items = FileBackedList<DiscoveredItem>()
        for reader in readers {
            for scanned in files {
                items.append(
                    try Self.item(scanned, reader, request.identifiers) { facts in
                        try PhotoRecord(
                            model: reader.id,
                            scanned,
                            facts: facts,
                            identifiers: request.identifiers
                        ).encoded
                    }
                )
            }
        }
        items.append(contentsOf: rest.items)
        return Discovery(items: items, notes: rest.notes, patients: rest.patients)
    }
}
