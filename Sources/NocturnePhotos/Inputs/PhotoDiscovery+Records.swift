import NocturneBatch
import NocturneRecipeSupport

extension PhotoDiscovery {
    /// An item of every picture for every reader. Each stores a ``PhotoRecord``.
    func records(for readers: [Reader], _ request: DiscoveryRequest) throws -> Discovery {
        let (files, rest) = try scannedFiles(request)
        let items = try readers.flatMap { reader in
            try files.map { scanned in
                try Self.item(scanned, reader, request.identifiers) { facts in
                    try PhotoRecord(
                        model: reader.id,
                        scanned,
                        facts: facts,
                        identifiers: request.identifiers
                    ).encoded
                }
            }
        }
        return Discovery(items: items + rest.items, notes: rest.notes, patients: rest.patients)
    }
}
