import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// The room in the machine's memory, which others use too: the budget counts only what this run was promised.
package struct MemoryAvailability {
    /// What is wanted, and what the machine says.
    package struct Need {
        let bytes: Int
        /// What items in flight will still take is not among it.
        let available: Int
        let limit: Int
        let resident: Int
        let isAmongOthers: Bool

        /// - Parameters:
        ///   - resident: bytes of this process.
        ///   - isAmongOthers: whether other items are in flight, whose end will make room.
        package init(bytes: Int, available: Int, limit: Int, resident: Int, isAmongOthers: Bool) {
            self.bytes = bytes
            self.available = available
            self.limit = limit
            self.resident = resident
            self.isAmongOthers = isAmongOthers
        }

        /// Whether waiting may help. What only this process itself could give back, it would wait for in vain.
        package var isWorthWaiting: Bool { available < bytes && (isAmongOthers || bytes + resident <= limit) }
    }

    let budget: MemoryBudget
    /// What the process takes when nothing is in flight.
    let engineBytes: Int
    /// Seconds after which an item is tried all the same; nil for never.
    let patience: Int?
    /// Less than this is not looked for: looking takes longer than it is worth.
    private static let leastBytes = 32 << 20

    /// With the lease of an item in hand: waits while others hold the memory that it needs.
    ///
    /// Nothing in flight waits for the one that waits here, so what is in flight comes to its end meanwhile.
    /// - Throws: `CancellationError`.
    func wait(for bytes: Int, of name: String, _ control: RunControl, _ progress: ProgressReporter) async throws {
        guard bytes >= MemoryAvailability.leastBytes || !budget.isAdmitting else { return }
        var waited = 0
        var isTold = false
        while control.mode == .running, !control.wasCancelled(item: name) {
            guard let need = need(bytes) else { break }
            // The lease may have been granted just before the pressure came.
            guard need.isWorthWaiting || need.isAmongOthers && !budget.isAdmitting else { break }
            // Beside others it is the ordinary way that an item has to wait.
            if !need.isAmongOthers && !isTold {
                let words = "needs \(ByteCount(bytes)) of memory, \(ByteCount(need.available)) are available"
                await progress.note("\(name) \(words); it waits until there is room.")
                isTold = true
            }
            if let patience, waited >= patience {
                await progress.note("\(name) is tried all the same after \(waited) s.")
                return
            }
            try await Task.sleep(for: .seconds(1))
            waited += need.isAmongOthers ? 0 : 1
        }
        if isTold { await progress.note("\(name) has waited \(waited) s for memory.") }
    }

    private func need(_ bytes: Int) -> Need? {
        let reading = MemoryReading.take()
        guard let available = reading.availableBytes, let limit = reading.limitBytes else { return nil }
        let resident = reading.anonymousBytes ?? reading.residentBytes ?? 0
        let leases = budget.snapshot()
        let outstanding = max(0, leases.leased - bytes - max(0, resident - engineBytes))
        return Need(
            bytes: bytes,
            available: available - outstanding,
            limit: limit,
            resident: resident,
            isAmongOthers: leases.holders > 1
        )
    }
}
