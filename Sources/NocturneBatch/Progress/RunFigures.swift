import NocturneOutput
import NocturneSystem

/// What a run has measured of itself, and what that suggests for the next one.
package struct RunFigures: Sendable, Equatable {
    /// In which items were processed, without pauses.
    package var seconds = 0.0
    /// Of all threads of the process in that time.
    package var processorSeconds = 0.0
    /// Of the compute pool.
    package var threads = 1
    /// Items that were processed to their end.
    package var items = 0
    /// Of these, the items that were processed alone, with large buffers in files, since they did not fit into the budget.
    package var leanItems = 0
    /// For the leases of all items.
    package var budgetBytes = 0
    /// The least budget with which no item had been processed alone; 0 without such items.
    package var sufficientBytes = 0
    /// In which the run waited for space on the disk.
    package var diskWaitSeconds = 0.0
    /// In the stage that reads the inputs, of all items together.
    package var loadSeconds = 0.0

    /// A run that has processed nothing.
    package init() {}

    /// Adds those of another round.
    mutating func add(_ other: RunFigures) {
        (seconds, processorSeconds) = (seconds + other.seconds, processorSeconds + other.processorSeconds)
        (items, leanItems) = (items + other.items, leanItems + other.leanItems)
        (diskWaitSeconds, loadSeconds) = (diskWaitSeconds + other.diskWaitSeconds, loadSeconds + other.loadSeconds)
        sufficientBytes = max(sufficientBytes, other.sufficientBytes)
        (threads, budgetBytes) = (other.threads, other.budgetBytes)
    }

    /// Shorter runs get no advice: nothing that could be gained is worth reading it.
    private static let leastSeconds = 600.0
    /// A share of the time below this is not worth it either.
    private static let leastShare = 0.1

    /// What would make the next such run faster, in one paragraph; nil where nothing would by a tenth or more.
    package var advice: String? {
        guard seconds >= Self.leastSeconds, items > 0 else { return nil }
        let sentences = [leanAdvice, diskAdvice, threadAdvice].compactMap(\.self)
        return sentences.isEmpty ? nil : "For the next run: " + sentences.joined(separator: " ")
    }

    private var leanAdvice: String? {
        guard Double(leanItems) >= Self.leastShare * Double(items) else { return nil }
        return
            "\(leanItems) of \(items) items did not fit into the budget of \(ByteCount(budgetBytes)) and were processed alone, with "
            + "large buffers in files; with --memory \(sufficientBytes / (1 << 20) + 1)M none would be."
    }

    private var diskAdvice: String? {
        guard diskWaitSeconds >= Self.leastShare * seconds else { return nil }
        return
            "\(EventText.duration(diskWaitSeconds)) of \(EventText.duration(seconds)) were spent waiting for space on the disk: "
            + "free some before, or write to another disk."
    }

    /// Threads idle while nothing can be started, too: only one cause is named.
    private var threadAdvice: String? {
        // 1 for threads that were never idle.
        let use = processorSeconds / (seconds * Double(threads))
        guard threads > 1, leanAdvice == nil, diskAdvice == nil, use < 0.6 else { return nil }
        let fact = "The \(threads) threads were in use for \(Int((100 * use).rounded())) % of the time"
        // Two inputs are read at a time.
        if loadSeconds >= seconds { return fact + ", while inputs were read: copy them to a local disk before." }
        let gain = Int((100 * (1 - max(use, 0.5))).rounded())
        return
            fact
            + ": two shards at the same time, each with --threads \(max(threads / 2, 1)) (`nocturne plan --shards 2`), save "
            + "up to \(gain) % of it."
    }
}
