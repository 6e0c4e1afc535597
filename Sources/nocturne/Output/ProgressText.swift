import NocturneBatch
import NocturneSystem

/// What an active run does, as lines of text.
enum ProgressText {
    static func lines(_ progress: RunProgress) -> [String] {
        var head = "\(progress.done) of \(progress.total) items have ended"
        if progress.failed > 0 { head += ", \(progress.failed) of them failed" }
        head += "; \(progress.queued) wait. " + time(progress.elapsedSeconds, progress.etaSeconds)
        let items = progress.items.map { item in
            [
                "  " + item.item, item.stage.rawValue, item.stage == .infer ? percent(item.share) : "",
                time(item.elapsedSeconds, item.etaSeconds),
            ]
        }
        let memory = progress.memory
        let resident = memory.residentBytes.map { "\(ByteCount($0)) of " } ?? ""
        let reserved = "\(ByteCount(memory.leasedBytes)) of it reserved for these items"
        return [head] + (items.isEmpty ? [] : [Terminal.table(items)])
            + ["Memory: \(resident)\(ByteCount(memory.budgetBytes)), \(reserved); pressure: \(memory.pressure)."]
    }

    /// Behind the line of a shard.
    static func short(_ progress: RunProgress) -> String {
        let items = progress.items.prefix(2).map { item in
            "\(item.item) (\(item.stage.rawValue)\(item.stage == .infer ? " " + percent(item.share) : ""))"
        }
        let left = progress.etaSeconds.map { ", about \(EventText.duration($0)) left" } ?? ""
        return (items.isEmpty ? "" : ", at work on " + items.joined(separator: ", ")) + left
    }

    private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded(.down))) %" }

    private static func time(_ elapsed: Double, _ left: Double?) -> String {
        EventText.duration(elapsed) + " so far" + (left.map { ", about \(EventText.duration($0)) left" } ?? "")
    }
}
