package import NocturneBatch
package import NocturneSystem

extension LoadedModels {
    /// Loads the models for an engine that continues a batch after another engine has ended.
    ///
    /// A package that was moved away or replaced while the batch ran would end it here, after hours of work: the run waits
    /// until the package is there again, and says so.
    /// - Parameters:
    ///   - patience: after how long it gives up; nil for never.
    ///   - note: gets the reason for waiting, once for each.
    /// - Throws: `BatchError` when the models cannot be used and it has given up, or the run is to stop.
    package static func awaitingPackages<Loaded>(
        _ patience: Duration?,
        _ control: RunControl,
        _ time: any TimeSource,
        note: (String) async -> Void,
        load: () throws -> Loaded
    ) async throws -> Loaded {
        let start = time.monotonic
        var reported: String?
        while true {
            let generation = control.changes.generation
            do {
                return try load()
            } catch let error as BatchError where error.code == .modelUnusable {
                let hasTime = patience.map { time.monotonic - start < $0 } ?? true
                guard control.mode == .running, hasTime else { throw error }
                if reported != error.description { await note("\(error); waiting until the package can be used again") }
                reported = error.description
                try await control.changes.wait(after: generation, atMost: .seconds(1), time)
            }
        }
    }
}
