import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneSystem

/// How much memory and how many threads: what never changes a result.
struct ResourceArguments: ParsableArguments {
    @Option(help: "The memory budget, such as 8G. Default: 80 % of what is there.")
    var memory: String?

    @Option(name: [.customShort("j"), .long], help: "Compute threads. Default: one a core.")
    var threads: Int?

    @Option(help: "When the disk is full: pause until there is room, or stop so that the batch can be resumed.")
    var onFull = FullDiskPolicy.pause.rawValue

    @Option(help: "Start items only within these hours, such as 20:00-06:00.")
    var between: String?

    @Option(help: "Start nothing that would probably not be done at this time, such as 06:00; then leave with 75.")
    var finishBy: String?

    @Flag(help: "Go on without this terminal; see nocturne attach.")
    var detach = false

    @Option(help: "Seconds without progress after which an item counts as stalled; 0 for never.")
    var stallLimit = 1800

    @Option(
        help: "How long one item may be worked on, such as 30m or 2h; then it fails, and the others go on. 0 for ever."
    )
    var itemTimeout = "0"

    @Flag(help: ArgumentHelp("Let faults happen as NOCTURNE_FAULT says: for proofs.", visibility: .hidden))
    var faultInjection = false

    /// Throws what is wrong with them, before anything is begun.
    func check() throws {
        _ = try memoryBytes()
        _ = try width()
        _ = try fullDiskPolicy()
        _ = try workingHours()
        guard stallLimit >= 0 else { throw ValidationError("--stall-limit takes 0 or more seconds") }
        _ = try itemSeconds()
        _ = try faultWords()
    }

    func itemSeconds() throws -> Int? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        let unit = itemTimeout.last.flatMap { units[$0] }
        let digits = unit == nil ? itemTimeout[...] : itemTimeout.dropLast()
        guard let count = Int(digits), (0...1_000_000).contains(count), digits.allSatisfy(\.isNumber) else {
            throw ValidationError("--item-timeout takes a time such as 30m, 2h or 90s, not \(itemTimeout)")
        }
        return count == 0 ? nil : count * (unit ?? 1)
    }

    /// - Parameter action: ends the process.
    func stallPolicy(action: @escaping @Sendable (String) -> Void) throws -> StallPolicy? {
        let item = try itemSeconds()
        guard stallLimit > 0 || item != nil else { return nil }
        return StallPolicy(seconds: stallLimit > 0 ? stallLimit : nil, itemSeconds: item, action: action)
    }

    /// The fault that the environment asks for, which only a run that was told so accepts.
    func faultWords() throws -> String? {
        let words = ProcessInfo.processInfo.environment["NOCTURNE_FAULT"]
        guard words == nil || faultInjection else {
            throw ValidationError("NOCTURNE_FAULT is set, which is for proofs with --fault-injection alone; unset it")
        }
        return words
    }

    func workingHours() throws -> WorkingHours {
        var hours = WorkingHours()
        if let between {
            hours.window = WorkingHours.Window(between)
            guard hours.window != nil else { throw ValidationError("--between takes hours such as 20:00-06:00") }
        }
        if let finishBy {
            hours.finishBy = WorkingHours.TimeOfDay(finishBy)
            guard hours.finishBy != nil else { throw ValidationError("--finish-by takes a time such as 06:00") }
        }
        return hours
    }

    func fullDiskPolicy() throws -> FullDiskPolicy {
        guard let policy = FullDiskPolicy(rawValue: onFull) else {
            throw ValidationError("--on-full takes pause or stop, not \(onFull)")
        }
        return policy
    }

    func memoryBytes() throws -> Int? {
        guard let memory else { return nil }
        guard let count = ByteCount(memory), count.bytes > 0 else {
            throw ValidationError("--memory takes a size such as 8G or 500M, not \(memory)")
        }
        return count.bytes
    }

    func width() throws -> Int {
        if let threads {
            guard (1...1024).contains(threads) else { throw ValidationError("--threads takes a number from 1 to 1024") }
            return threads
        }
        return max(1, ProcessInfo.processInfo.activeProcessorCount)
    }
}

/// What a run shows.
struct OutputArguments: ParsableArguments {
    @Flag(help: "Events as JSON lines on standard output.")
    var json = false

    @Flag(name: [.short, .long], help: "No progress, only errors.")
    var quiet = false
}
