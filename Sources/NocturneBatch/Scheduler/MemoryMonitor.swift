import CPosix
import NocturneConcurrency
import NocturneSystem

/// Tells budget and gate of the machine's memory, while a run goes on.
struct MemoryMonitor {
    let budget: MemoryBudget
    let gate: PressureGate
    let progress: ProgressReporter

    /// Looks at the machine's memory once a second, tells budget and gate, and gives a sign of life every half minute.
    func run(processBudget: Int) async {
        var machine = PressureStateMachine(budgetBytes: processBudget)
        var seconds = 0
        while !Task.isCancelled {
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            seconds += 1
            let reading = MemoryReading.take()
            if let change = machine.observe(reading) {
                gate.setLevel(change.to)
                budget.setAdmitting(change.to == .normal)
                if change.to != .normal { cposix_trim_heap() }
                await progress.emit(
                    BatchEvent(
                        .pressure,
                        reason: "\(change.from) to \(change.to): \(change.reason); \(Self.consequence(of: change.to))",
                        residentBytes: reading.residentBytes,
                        leasedBytes: budget.snapshot().leased
                    )
                )
            }
            if seconds % 30 == 0 {
                await progress.emit(
                    BatchEvent(.heartbeat, residentBytes: reading.residentBytes, leasedBytes: budget.snapshot().leased)
                )
            }
        }
    }

    private static func consequence(of level: PressureLevel) -> String {
        switch level {
        case .normal: "items are begun again"
        case .warning: "nothing is begun beside what is in flight"
        case .critical: "of what is in flight only the oldest goes on"
        }
    }
}
